/**
 * Notices on their way to a mail server: at least once, for a day at most, over TLS, whatever the server
 * does.
 */

import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, test } from 'node:test'
import { day, hour, minute } from '../../src/clock.ts'
import type { Courier } from '../../src/notices/courier.ts'
import { leaseMs, removeOldNotices, sendDue, waitsMs } from '../../src/notices/post.ts'
import { openSmtp } from '../../src/notices/smtp.ts'
import { ask } from '../support/ask.ts'
import { makeCertificate } from '../support/certificate.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { type MailServer, openMailServer } from '../support/mail-server.ts'
import {
  from,
  makeReader,
  noticesOf,
  openPostDependencies,
  serverAt,
  writeNotice,
} from '../support/notices.ts'
import { findFreePorts } from '../support/ports.ts'

// Its own post has nothing to do with these: it is another role's.
const house = await openHouse({ ROLES: 'api' })
let server: MailServer
let courier: Courier
beforeEach(async () => {
  server = await openMailServer()
  courier = openSmtp(serverAt(server.port), from)
})
afterEach(async () => {
  courier.close()
  await server.close()
})

const db = () => house.gateway.context.db
const send = (by: Courier = courier) => sendDue(openPostDependencies(house, by))

test('a notice goes to its address, says who wrote it, and is recorded as sent', async () => {
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  assert.deepEqual(await send(), { sent: 1, failed: 0 })
  const [mail] = server.taken
  assert.deepEqual([mail!.from, mail!.to], [from.address, [reader.email]])
  assert.match(mail!.raw, /^From: Countersign <notices@broker\.example>\r$/m)
  assert.match(mail!.raw, /^Auto-Submitted: auto-generated\r$/m)
  assert.match(mail!.raw, /^Content-Type: text\/plain; charset=utf-8\r$/m)
  assert.match(mail!.text, /^Hello Ada Holder,\n\nSomebody signed in/)
  const [row] = await noticesOf(db(), reader)
  assert.deepEqual([row!.state, row!.attempts, row!.error], ['sent', 1, null])
  assert.deepEqual(await send(), { sent: 0, failed: 0 }, 'once')
})

test('a refusal for now is repeated after growing waits, and the notice is given up after a day', async () => {
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  server.verdict = () => ({ code: 451, text: 'try again later' })
  const waits: number[] = []
  for (;;) {
    assert.deepEqual(await send(), { sent: 0, failed: 1 })
    const [row] = await noticesOf(db(), reader)
    if (row!.state === 'given up') break
    assert.match(row!.error!, /451 try again later/)
    const wait = row!.dueAt.getTime() - house.clock.now().getTime()
    waits.push(wait)
    house.clock.advance(wait - 1)
    assert.deepEqual(await send(), { sent: 0, failed: 0 }, 'not a moment earlier')
    house.clock.advance(1)
  }
  assert.deepEqual(waits.slice(0, 5), waitsMs)
  assert.ok(waits.slice(5).every((wait) => wait === 3 * hour))
  const total = waits.reduce((sum, wait) => sum + wait, 0)
  assert.ok(total <= day && total > day - 3 * hour, String(total))
  assert.equal(server.shown.length, waits.length + 1)
})

test('a server that comes back is sent what waited', async () => {
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  server.verdict = () => ({ code: 452, text: 'full' })
  await send()
  server.verdict = () => undefined
  house.clock.advance(minute)
  assert.deepEqual(await send(), { sent: 1, failed: 0 })
  assert.equal((await noticesOf(db(), reader))[0]!.state, 'sent')
})

test('a refusal for good ends the notice at once, with what the server said, and the next one goes', async () => {
  const [gone, reader] = [await makeReader(house), await makeReader(house)]
  await writeNotice(house, gone)
  await writeNotice(house, reader)
  server.verdict = ({ to }) => (to.includes(gone.email) ? { code: 550, text: 'no such mailbox' } : undefined)
  assert.deepEqual(await send(), { sent: 1, failed: 1 })
  const [row] = await noticesOf(db(), gone)
  assert.deepEqual([row!.state, row!.attempts], ['given up', 1])
  assert.match(row!.error!, /550 no such mailbox/)
  assert.equal((await noticesOf(db(), reader))[0]!.state, 'sent')
})

test('a recipient whom the server does not know ends the notice; one that it puts off, and a server that closes, do not', async (t) => {
  for (const [code, state] of [
    [550, 'given up'],
    [450, 'waiting'],
    [421, 'waiting'],
  ] as const) {
    const picky = await openMailServer({
      onRcptTo: (_address, _session, done) =>
        done(Object.assign(new Error('not here'), { responseCode: code })),
    })
    t.after(() => picky.close())
    const by = openSmtp(serverAt(picky.port), from)
    t.after(() => by.close())
    const reader = await makeReader(house)
    await writeNotice(house, reader)
    assert.deepEqual(await send(by), { sent: 0, failed: 1 })
    const [row] = await noticesOf(db(), reader)
    assert.deepEqual([row!.state, row!.error!.includes(`${code} not here`)], [state, true], row!.error!)
    assert.equal(picky.shown.length, 0)
    house.clock.advance(minute)
    await send()
  }
})

test('a server that lets nobody in is no refusal of the message: what waits is kept and left alone', async (t) => {
  const strict = await openMailServer({
    onAuth: (_auth, _session, done) =>
      done(Object.assign(new Error('wrong password'), { responseCode: 535 })),
  })
  t.after(() => strict.close())
  const locked = openSmtp(serverAt(strict.port, { user: 'gateway', password: 'hunter2' }), from)
  t.after(() => locked.close())
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  await writeNotice(house, reader)
  assert.deepEqual(await send(locked), { sent: 0, failed: 1 }, 'one is tried a turn')
  const rows = await noticesOf(db(), reader)
  assert.deepEqual(
    rows.map(({ state, attempts }) => [state, attempts]),
    [
      ['waiting', 1],
      ['waiting', 0],
    ],
  )
  assert.ok(!rows[0]!.error!.includes('hunter2'))
  house.clock.advance(minute)
  assert.deepEqual(await send(), { sent: 2, failed: 0 })
})

test('a server that is not there costs a wait, not the notice', async (t) => {
  const [port] = await findFreePorts(1)
  const nobody = openSmtp(serverAt(port!), from)
  t.after(() => nobody.close())
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  assert.deepEqual(await send(nobody), { sent: 0, failed: 1 })
  const [row] = await noticesOf(db(), reader)
  assert.equal(row!.state, 'waiting')
  assert.match(row!.error!, /ECONNREFUSED/)
  house.clock.advance(minute)
  await send()
})

test('a server that greets and then drips a byte at a time is left after its time, and the notice waits', async (t) => {
  const sockets = new Set<Socket>()
  const dripping = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.write('220 slow ESMTP\r\n')
    socket.once('data', () => {
      const timer = setInterval(() => socket.write('2'), 20)
      socket.once('close', () => clearInterval(timer))
    })
  })
  await new Promise<void>((ready) => dripping.listen(0, '127.0.0.1', ready))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    dripping.close()
  })
  const { port } = dripping.address() as { port: number }
  const shortSmtp = openSmtp(serverAt(port), from, 300)
  t.after(() => shortSmtp.close())
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  assert.deepEqual(await send(shortSmtp), { sent: 0, failed: 1 })
  assert.equal((await noticesOf(db(), reader))[0]!.state, 'waiting')
  house.clock.advance(minute)
  assert.deepEqual(await send(), { sent: 1, failed: 0 })
})

test('a server elsewhere must speak TLS: without it no byte of a message, and no password, is sent', async (t) => {
  const plain = openSmtp(
    serverAt(server.port, { requireTls: true, user: 'gateway', password: 'hunter2' }),
    from,
  )
  t.after(() => plain.close())
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  assert.deepEqual(await send(plain), { sent: 0, failed: 1 })
  assert.equal(server.shown.length, 0)
  assert.match((await noticesOf(db(), reader))[0]!.error!, /ETLS|STARTTLS/i)
  house.clock.advance(minute)
  await send()
})

test('with STARTTLS or TLS from the start it is sent, when the certificate is one that may be trusted', async (t) => {
  const { cert, key } = makeCertificate(['localhost'], new Date(Date.now() - day), new Date(Date.now() + day))
  for (const secure of [false, true]) {
    const guarded = await openMailServer({ secure, cert, key, disabledCommands: [] })
    t.after(() => guarded.close())
    const login = { user: 'gateway', password: 'p@ss word' }
    const at = serverAt(guarded.port, { ...login, host: 'localhost', secure, requireTls: true })
    const reader = await makeReader(house)
    await writeNotice(house, reader)
    const stranger = openSmtp(at, from)
    t.after(() => stranger.close())
    assert.deepEqual(await send(stranger), { sent: 0, failed: 1 }, 'nobody vouches for it')
    assert.equal(guarded.shown.length, 0)
    house.clock.advance(minute)
    const known = openSmtp({ ...at, certificateAuthority: cert }, from)
    t.after(() => known.close())
    assert.deepEqual(await send(known), { sent: 1, failed: 0 })
    assert.deepEqual([guarded.taken[0]!.secure, guarded.taken[0]!.user], [true, 'gateway'])
  }
})

test('two nodes that send at once send each notice once', async () => {
  const reader = await makeReader(house)
  const others = await Promise.all(Array.from({ length: 3 }, () => makeReader(house)))
  for (const user of [reader, ...others]) for (let n = 0; n < 10; n++) await writeNotice(house, user)
  const second = openSmtp(serverAt(server.port), from)
  const done = await Promise.all([send(), send(second)])
  second.close()
  assert.equal(done[0].sent + done[1].sent, 40)
  assert.equal(new Set(server.taken.map(({ messageId }) => messageId)).size, 40)
  assert.equal(server.taken.length, 40)
})

test('whose lease ran out records nothing: who took the notice over does', async () => {
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  server.verdict = async () => {
    if (server.shown.length > 1) return void (await second.promise)
    await first.promise
    return { code: 550, text: 'too late' }
  }
  const slow = send()
  await server.hasShown(1)
  house.clock.advance(leaseMs)
  const other = openSmtp(serverAt(server.port), from)
  const taken = send(other)
  await server.hasShown(2)
  first.resolve()
  await slow
  assert.equal((await noticesOf(db(), reader))[0]!.state, 'waiting', 'it is no longer theirs to give up')
  second.resolve()
  assert.deepEqual(await taken, { sent: 1, failed: 0 })
  other.close()
  const [row] = await noticesOf(db(), reader)
  assert.deepEqual([row!.state, row!.attempts, row!.error], ['sent', 2, null])
  assert.equal(server.shown[0]!.messageId, server.shown[1]!.messageId, 'a copy can be told by its message id')
})

test('the gateway sends within its turn, and closes at once while a server hangs', async () => {
  const { promise: never } = Promise.withResolvers<undefined>()
  const own = await openTestGateway({ SMTP_URL: server.url(), MAIL_FROM: 'Broker <notices@broker.example>' })
  const reader = await makeReader(own)
  await writeNotice(own, reader)
  const [mail] = await server.hasTaken(1)
  assert.match(mail!.raw, /^From: Broker <notices@broker\.example>\r$/m)
  server.verdict = () => never
  await writeNotice(own, reader)
  await server.hasShown(2)
  const begun = performance.now()
  await own.gateway.close()
  assert.ok(performance.now() - begun < 8_000, 'sooner than a server may be silent')
  await own.close()
})

test('notices that are settled leave after 90 days, and those that wait never do', async () => {
  const [settled, waiting] = [await makeReader(house), await makeReader(house)]
  await writeNotice(house, settled)
  await send()
  await writeNotice(house, waiting)
  await removeOldNotices(db(), new Date(house.clock.now().getTime() + 90 * day - 1))
  assert.equal((await noticesOf(db(), settled)).length, 1)
  await removeOldNotices(db(), new Date(house.clock.now().getTime() + 90 * day))
  assert.equal((await noticesOf(db(), settled)).length, 0)
  assert.equal((await noticesOf(db(), waiting)).length, 1)
  await send()
})

test('looking for what is due reads an index, however many notices there were', async () => {
  const plan = await ask<{ 'QUERY PLAN': string }>(
    db(),
    "EXPLAIN SELECT id FROM notices WHERE state = 'waiting' AND due_at <= now() ORDER BY due_at, id LIMIT 1",
  )
  assert.match(plan.map((line) => line['QUERY PLAN']).join('\n'), /Index.* using notices_due/)
})

/**
 * An answer that goes on, a stream of events, a live page or an export, ends with whatever would refuse its
 * next request, on whichever node that was said. Streams are read at one node, and everything is revoked
 * beside it.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { sealAll } from '../../src/audit/chain.ts'
import { everything } from '../../src/database/changes.ts'
import type { Database } from '../../src/database/database.ts'
import { openGateway } from '../../src/gateway/gateway.ts'
import { setClientStatus } from '../../src/partners/client.ts'
import { listSecrets, revokeSecret, rotateSecret } from '../../src/partners/client-secret.ts'
import {
  addMember,
  getPartner,
  removeMember,
  setMemberRole,
  setPartnerStatus,
} from '../../src/partners/partner.ts'
import { readConfig } from '../../src/settings/config.ts'
import { listApiTokens, revokeApiToken } from '../../src/users/api-token.ts'
import { closeEverySession } from '../../src/users/session.ts'
import { getStaffMember, giveRole } from '../../src/users/staff-role.ts'
import { setUserStatus } from '../../src/users/user.ts'
import { insertEvents } from '../../src/webhooks/events/event.ts'
import { ask } from '../support/ask.ts'
import type { Browser } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { addOwner, openPartner, type PartnerHouse } from '../support/portal.ts'

const house = await openHouse()
/** Where the long answers are read. */
const there = await keepOpen(openGateway(readConfig(house.settings), { clock: house.clock }))
/** A way to change things that no gateway knows of. */
const db = await keepOpen(openLenientDatabase({ connectionString: house.databaseUrl, connections: 2 }))

const now = () => house.clock.now()

interface LongAnswer {
  /** What was read so far, without the encoding of its transfer. */
  readonly heard: () => string
  readonly ended: Promise<unknown>
  close(): void
}

/** Resolves when something of the answer's body has come. */
async function open(headers: Record<string, string>, path = '/v2/events'): Promise<LongAnswer> {
  const stop = new AbortController()
  const sent = { accept: 'text/event-stream', ...headers }
  const response = await fetch(there.baseUrl + path, {
    headers: sent,
    signal: stop.signal,
    redirect: 'manual',
  })
  assert.equal(response.status, 200, path)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let heard = (await reader.read()).value ?? ''
  const readOn = async () => {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      heard += value
    }
  }
  return { heard: () => heard, ended: readOn().catch(() => {}), close: () => stop.abort() }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A long answer, and what ends it. */
interface Act {
  readonly answer: LongAnswer
  /** Returns when it has been acknowledged. */
  stop(): Promise<unknown>
}

async function openByToken(): Promise<PartnerHouse & { token: string; answer: LongAnswer }> {
  const own = await openPartner(house)
  const token = await house.makeToken(own.user)
  return { ...own, token, answer: await open(bearer(token)) }
}

async function openByClient(): Promise<PartnerHouse & { answer: LongAnswer }> {
  const own = await openPartner(house)
  return { ...own, answer: await open(basic(own.client)) }
}

const cookieOf = (browser: Browser) => ({ cookie: browser.cookieHeader })

async function openPage(): Promise<PartnerHouse & { answer: LongAnswer }> {
  const own = await openPartner(house)
  return { ...own, answer: await open(cookieOf(own.browser), `${own.home}/deliveries`) }
}

const acts: Record<string, () => Promise<Act>> = {
  async 'a stream of events whose client is suspended'() {
    const { answer, client } = await openByClient()
    return { answer, stop: () => setClientStatus(db, client, 'suspended', house.act()) }
  },
  async 'a stream of events whose partner is suspended'() {
    const { answer, partner } = await openByClient()
    return { answer, stop: () => setPartnerStatus(db, partner, 'suspended', 'a test', house.act()) }
  },
  async 'a stream of events whose client secret is revoked'() {
    const { answer, client } = await openByClient()
    const [secret] = await listSecrets(db, client.id, now())
    return { answer, stop: () => revokeSecret(db, client, secret!.id, house.act()) }
  },
  async 'a stream of events whose client secret is replaced without an overlap'() {
    const { answer, client } = await openByClient()
    return {
      answer,
      stop: () => rotateSecret(db, house.gateway.context.vault, client, { overlapMs: 0 }, house.act()),
    }
  },
  async 'a stream of a member whose token is revoked'() {
    const { answer, user } = await openByToken()
    const [token] = await listApiTokens(db, user.id)
    return { answer, stop: () => revokeApiToken(db, token!.id, undefined, house.act()) }
  },
  async 'a stream of a member whose token is deleted by hand'() {
    const { answer, user } = await openByToken()
    return { answer, stop: () => run(`DELETE FROM api_tokens WHERE user_id = '${user.id}'`) }
  },
  async 'a stream of a member who is removed'() {
    const { answer, partner, user } = await openByToken()
    await addOwner(house, partner)
    return { answer, stop: () => removeMember(db, partner, user, house.act()) }
  },
  async 'a stream of a member who is locked out'() {
    const { answer, user } = await openByToken()
    return { answer, stop: () => setUserStatus(db, user, 'disabled', house.act()) }
  },
  async 'a stream of a member whose partner is suspended'() {
    const { answer, partner } = await openByToken()
    return { answer, stop: () => setPartnerStatus(db, partner, 'suspended', 'a test', house.act()) }
  },
  async 'a stream of a member who joins a second partner, so that the token names no branch any more'() {
    const { answer, user } = await openByToken()
    const other = await house.makePartner()
    return { answer, stop: () => addMember(db, other, user, house.act()) }
  },
  async 'a live page of the portal whose member is removed'() {
    const { answer, partner, user } = await openPage()
    await addOwner(house, partner)
    return { answer, stop: () => removeMember(db, partner, user, house.act()) }
  },
  async 'a live page of the portal of a member who gets another role'() {
    const { answer, partner, user } = await openPage()
    await addOwner(house, partner)
    return { answer, stop: () => setMemberRole(db, partner, user, 'viewer', house.act()) }
  },
  async 'a live page of the portal of a member whose role is changed by hand'() {
    const { answer, partner, user } = await openPage()
    await addOwner(house, partner)
    return {
      answer,
      stop: () => run(`UPDATE partner_members SET role = 'developer' WHERE user_id = '${user.id}'`),
    }
  },
  async 'a live page of the portal whose partner is suspended'() {
    const { answer, partner } = await openPage()
    return { answer, stop: () => setPartnerStatus(db, partner, 'suspended', 'a test', house.act()) }
  },
  async 'a live page of the portal whose session is closed elsewhere'() {
    const { answer, user } = await openPage()
    return { answer, stop: () => closeEverySession(db, user, house.act()) }
  },
  async 'the live overview of an operator who is locked out'() {
    await house.makeOperator('Another Operator')
    const { user, browser } = await openConsole(house)
    const answer = await open(cookieOf(browser), '/console')
    return { answer, stop: () => setUserStatus(db, user, 'disabled', house.act()) }
  },
  async 'the live overview of somebody who is an operator no more'() {
    const { user, browser } = await openConsole(house)
    const answer = await open(cookieOf(browser), '/console')
    return { answer, stop: () => run(`UPDATE users SET role = 'holder' WHERE id = '${user.id}'`) }
  },
  async 'the live overview of somebody of the staff whose roles change'() {
    const { user, browser } = await openConsole(house, 'Vera Viewer', ['viewer'])
    const answer = await open(cookieOf(browser), '/console')
    return {
      answer,
      stop: async () => giveRole(db, await getStaffMember(db, user.id), 'support', house.act()),
    }
  },
  async 'an export of the audit log whose operator signs out everywhere, and which nobody reads on'() {
    await fillAudit()
    const { user, browser } = await openConsole(house)
    const socket = await openStalled(
      cookieOf(browser),
      '/console/audit/export?format=json&subject=client%3Along',
    )
    const answer = { heard: () => '', ended: untilCut(socket), close: () => socket.destroy() }
    return { answer, stop: () => closeEverySession(db, user, house.act()) }
  },
}

const run = (text: string) => ask(db, text)

let filled: Promise<void> | undefined

/** Once, and sealed before anything is measured: a node that seals so much does nothing else meanwhile. */
function fillAudit(): Promise<void> {
  filled ??= db
    .script(`
    INSERT INTO audit_entries (at, actor, action, subject, details)
    SELECT '2026-03-02T10:00:00Z', 'gateway', 'client.updated', 'client:long',
      json_build_object('long', repeat('x', 3000)) FROM generate_series(1, 4000)`)
    .then(() => sealAll(db, now(), 'wait'))
  return filled
}

/** Asks, takes the first bytes and then stops reading. */
async function openStalled(headers: Record<string, string>, path: string): Promise<Socket> {
  const { hostname, port } = new URL(there.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\n${lines.join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  return socket
}

/** Whoever does not read learns of the end by writing: the other side answers that nobody is there. */
function untilCut(socket: Socket): Promise<void> {
  const timer = setInterval(() => socket.write('\r\n'), 5)
  return new Promise((closed) => {
    socket.once('close', () => {
      clearInterval(timer)
      closed()
    })
  })
}

const promisedMs = 100
const hardLimitMs = 30_000

/**
 * How long it was waited for, without what this process, in which all of it runs, was at work: how long that
 * takes is the machine's matter.
 */
async function measure({ answer, stop }: Act): Promise<number> {
  await stop()
  const acknowledged = performance.eventLoopUtilization()
  const deadline = AbortSignal.timeout(hardLimitMs)
  const late = once(deadline, 'abort').then(() => 'late')
  const outcome = await Promise.race([answer.ended, late])
  answer.close()
  assert.notEqual(outcome, 'late', `still open ${hardLimitMs} ms after the acknowledgement`)
  return performance.eventLoopUtilization(acknowledged).idle
}

for (const [what, prepare] of Object.entries(acts)) {
  test(`${what} ends within 100 ms, on a node that was not asked`, async (context: TestContext) => {
    const times: number[] = []
    // A busy machine can hold up any one measurement; it does not hold up three.
    for (let attempt = 0; attempt < 3 && !times.some((ms) => ms <= promisedMs); attempt++)
      times.push(await measure(await prepare()))
    context.diagnostic(`ended ${times.map((ms) => ms.toFixed(1)).join(', ')} ms after the acknowledgement`)
    assert.ok(Math.min(...times) <= promisedMs)
  })
}

test('a page that may no longer be seen says so before it ends', async () => {
  const { answer, partner, user } = await openPage()
  await addOwner(house, partner)
  await removeMember(db, partner, user, house.act())
  await answer.ended
  assert.match(answer.heard(), /event: over/)
})

test('what changes nothing about a caller ends none of its streams', async () => {
  const own = await openByClient()
  const { partner, client, program, answer } = own
  const stranger = await house.makeUser()
  await addMember(db, partner, stranger, house.act())
  await rotateSecret(db, house.gateway.context.vault, client, { overlapMs: 60_000 }, house.act())
  await setClientStatus(db, await house.makeClient({ partner }), 'suspended', house.act())
  await program.fire()
  await eventually('the event', async () => /event: TRANSACTION/.test(answer.heard()))
  answer.close()
  await answer.ended
})

test('a stream ends with the overlap of the secret that opened it', async () => {
  const { client, program } = await openPartner(house)
  await rotateSecret(db, house.gateway.context.vault, client, { overlapMs: 60_000 }, house.act())
  const answer = await open(basic(client))
  await program.fire()
  await eventually('the event', async () => /event: TRANSACTION/.test(answer.heard()))
  house.clock.advance(60_000)
  await answer.ended
})

test('a live page ends with the idle time of its session, which it does not lengthen', async () => {
  const { answer } = await openPage()
  house.clock.advance(30 * 60_000)
  await answer.ended
  assert.match(answer.heard(), /event: over/)
})

/** Nobody is told of this one: only whoever asks the database knows. */
function changeSilently(text: string): Promise<void> {
  return db.transaction(async (sql) => {
    await sql.script('SET LOCAL session_replication_role = replica')
    await sql.script(text)
  })
}

/** Has a database open so many connections: each is held until all are there. */
async function connectWholly(database: Database, count: number): Promise<void> {
  const { promise: all, resolve } = Promise.withResolvers<void>()
  let missing = count
  const hold = async () => {
    if (--missing === 0) resolve()
    await all
  }
  await Promise.all(Array.from({ length: count }, () => database.transaction(hold)))
}

/**
 * While it runs, no node can listen; what is connected already goes on working, and nothing needs a
 * connection more.
 */
async function withoutListening(work: () => Promise<void>): Promise<void> {
  const { config, db: requests, streamDb } = there.context
  await connectWholly(requests, config.databaseConnections)
  await connectWholly(streamDb, config.streamConnections)
  const [{ name }] = (await run('SELECT current_database() AS name')) as [{ name: string }]
  const { changes } = there.context
  const lost = new Promise<void>((resolve) => {
    changes.subscribe((tag) => tag === everything && resolve())
  })
  const elsewhere = openLenientDatabase({
    connectionString: house.databaseUrl.replace(`/${name}?`, '/countersign?'),
    connections: 1,
  })
  await ask(elsewhere, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  try {
    await run(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
        AND query LIKE 'LISTEN%changes%'`,
    )
    await lost
    await work()
  } finally {
    await ask(elsewhere, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
    await elsewhere.close()
  }
  await eventually('a node that listens again', async () => changes.isLive)
}

test('while a node cannot hear of changes each of its streams is judged anew every second', async () => {
  const { answer, client } = await openByClient()
  const other = await openByToken()
  await withoutListening(async () => {
    // Judged once because the connection went; what is changed now nobody says.
    await eventually('a node that knows', async () => !there.context.changes.isLive)
    await changeSilently(`UPDATE clients SET status = 'suspended' WHERE id = '${client.id}'`)
    await answer.ended
    assert.equal(there.context.changes.isLive, false, 'it was no announcement that ended it')
  })
  assert.equal(await Promise.race([other.answer.ended, Promise.resolve('open')]), 'open')
  other.answer.close()
})

test('what was said while a node could not listen ends its streams when it listens again', async () => {
  const { answer, client } = await openByClient()
  // In one go: whoever listens again finds it done.
  await db.script(`BEGIN;
    SET LOCAL session_replication_role = replica;
    UPDATE clients SET status = 'suspended' WHERE id = '${client.id}';
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
      AND query LIKE 'LISTEN%changes%';
    COMMIT`)
  await answer.ended
})

test('whoever reads slowly gets nothing more of what is waiting for them', async () => {
  const { client, partner } = await openPartner(house)
  const common = {
    environment: 'live',
    branchId: partner.branchId,
    kind: 'TRANSACTION',
    action: 'SUBMITTED',
  } as const
  const body = JSON.stringify('x'.repeat(3_000))
  const events = Array.from({ length: 4_000 }, (_, n) => ({
    ...common,
    entity: `transaction:${n}`,
    body,
    simulated: false,
  }))
  await insertEvents(db, events, now())
  const logged = `SELECT FROM log WHERE feed = feed_of(${partner.branchId}, 'live') AND seq = 4000`
  await eventually('numbers', async () => (await run(logged)).length === 1)
  const socket = await openStalled({ accept: 'text/event-stream', ...basic(client) }, '/v2/events')
  await setPartnerStatus(
    db,
    await getPartner(db, String(partner.branchId)),
    'suspended',
    'a test',
    house.act(),
  )
  await untilCut(socket)
  let left = ''
  for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) left += chunk
  assert.ok(!left.includes('"sequence":4000'), 'the rest never left')
})

for (const [what, path, headers] of [
  [
    'a stream of events',
    '/v2/events',
    (own: PartnerHouse) => ({ accept: 'text/event-stream', ...basic(own.client) }),
  ],
  [
    'a live page',
    '/deliveries',
    (own: PartnerHouse) => ({ accept: 'text/event-stream', ...cookieOf(own.browser) }),
  ],
] as const) {
  test(`what is no HTTP ends the connection of ${what}, and writes no second answer into it`, async () => {
    const own = await openPartner(house)
    const socket = await openStalled(headers(own), path === '/deliveries' ? own.home + path : path)
    let heard = ''
    socket.on('data', (chunk) => {
      heard += chunk
    })
    socket.resume()
    socket.write('this is no HTTP\r\n\r\n')
    await once(socket, 'close')
    assert.ok(!heard.includes('HTTP/1.1'), heard)
  })
}

/** GET /internal/v1/audit: who hears the audit log over HTTP, and how they go on. */
import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { recordAct } from '../../src/audit/audit.ts'
import { printHead } from '../../src/audit/block.ts'
import { findHead, sealAll } from '../../src/audit/chain.ts'
import { openHeadSigner } from '../../src/audit/head-signer.ts'
import { checkStream } from '../../src/audit/stream-check.ts'
import { revokeCredential } from '../../src/users/admin-credential.ts'
import { getStaffMember, takeRole } from '../../src/users/staff-role.ts'
import { permits, staffRoles } from '../../src/vocabulary/permission.ts'
import { openAdminProgram } from '../support/administration.ts'
import {
  type HeardAudit,
  hearAudit,
  inTurn,
  linesOf,
  subjectsOf,
  type ToldLine,
} from '../support/audit-stream.ts'
import { send } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'

const house = await openHouse()
const { db, vault } = house.gateway.context
const auditor = await openAdminProgram(house, { role: 'auditor' })
const path = '/internal/v1/audit'

const write = (subject: string) => recordAct(db, house.act(), 'client.updated', subject, { name: subject })
const seal = () => sealAll(db, house.clock.now(), 'wait')

async function pull(after: string) {
  const answer = await auditor.call('GET', `${path}?after=${after}`)
  assert.equal(answer.status, 200, answer.text)
  return answer
}

/** Page by page, until nothing new comes. */
async function pullAll(after = '0'): Promise<string[]> {
  const lines: string[] = []
  for (let position = after; ; ) {
    const page = linesOf((await pull(position)).text)
    const last = page.map((line) => JSON.parse(line)).findLast(({ kind }) => kind === 'block')
    if (!last) return lines
    lines.push(...page)
    position = `${last.position}:${last.hash}`
  }
}

async function until(stream: HeardAudit, isIt: (line: ToldLine) => boolean): Promise<ToldLine[]> {
  const told: ToldLine[] = []
  for (;;) {
    const next = await stream.next()
    if (!next) throw new Error('The stream ended before it told so.')
    told.push(next)
    if (isIt(next)) return told
  }
}
const isBlockAfter = (subject: string) => {
  let isTold = false
  return ({ event, data }: ToldLine) => {
    isTold ||= data.includes(subject)
    return isTold && event === 'block'
  }
}

test('pages hold the whole log, and prove it', async () => {
  await write('client:page')
  await seal()
  const lines = await pullAll()
  assert.ok(subjectsOf(lines).includes('client:page'))
  const { publicKey } = await openHeadSigner(db, vault)
  const { problems, head, signed } = await checkStream(inTurn(lines), publicKey)
  assert.deepEqual(problems, [])
  assert.equal(printHead(head!), printHead(signed!))
  const answer = await pull(printHead(head!))
  assert.match(String(answer.headers['content-type']), /^application\/x-ndjson\b/)
  assert.equal(answer.headers['cache-control'], 'no-store')
})

test('a stream tells what is there and then what comes, and resumes after the block that was heard', async (t) => {
  await seal()
  const start = printHead(await findHead(db))
  const stream = await hearAudit(house.internalUrl, `after=${start}`, auditor.headers)
  t.after(() => stream.close())
  assert.deepEqual([stream.status, stream.contentType], [200, 'text/event-stream'])
  await write('client:first')
  const first = await until(stream, isBlockAfter('client:first'))
  await write('client:second')
  const second = await until(stream, isBlockAfter('client:second'))
  const { id } = first.at(-1)!
  assert.deepEqual(
    first.filter(({ event }) => event !== 'block').map((line) => line.id),
    first.filter(({ event }) => event !== 'block').map(() => undefined),
    'a position is told with its block alone',
  )
  const resumed = await hearAudit(house.internalUrl, 'after=0', { ...auditor.headers, 'last-event-id': id! })
  t.after(() => resumed.close())
  const again = await until(resumed, isBlockAfter('client:second'))
  const entries = (lines: readonly ToldLine[]) => lines.filter(({ event }) => event !== 'head')
  assert.deepEqual(entries(again), entries(second))
})

test('who may export the log hears it: by a credential of the live site, and nobody else', async () => {
  for (const role of staffRoles) {
    const program = await openAdminProgram(house, { role })
    const { status } = await program.call('GET', path)
    assert.equal(status, permits([role], 'audit.export') ? 200 : 403, role)
  }
  const sandbox = await openAdminProgram(house, { role: 'auditor', environment: 'sandbox' })
  assert.equal((await sandbox.call('GET', path)).status, 403)
  for (const headers of [{}, { authorization: 'Bearer x' }, { accept: 'text/event-stream' }])
    assert.equal((await send(house.internalUrl + path, { headers })).status, 401)
})

test('a position that the log does not have is refused: 409, and 400 for what is none', async () => {
  const { position, hash } = await findHead(db)
  const other = `${position}:${hash.toString('hex').replace(/^../, (byte) => (byte === '00' ? '11' : '00'))}`
  for (const after of [String(position + 1_000), other]) {
    const answer = await auditor.call('GET', `${path}?after=${after}`)
    assert.deepEqual([answer.status, answer.json<{ error: string }>().error], [409, 'conflict'], after)
  }
  for (const query of ['after=', 'after=-1', 'after=x', 'after=1:2', 'after=1&after=2', 'behind=1'])
    assert.equal((await auditor.call('GET', `${path}?${query}`)).status, 400, query)
  const odd = await auditor.call('GET', path, undefined, { 'last-event-id': 'nonsense' })
  assert.equal(odd.status, 400)
})

test('a stream ends when its credential does, and when the role of its person does', async () => {
  const revoked = await openAdminProgram(house, { role: 'auditor' })
  const demoted = await openAdminProgram(house, { role: 'auditor' })
  const streams = await Promise.all(
    [revoked, demoted].map(({ headers }) => hearAudit(house.internalUrl, 'after=0', headers)),
  )
  await revokeCredential(db, revoked.credentialId, house.act())
  await takeRole(db, await getStaffMember(db, demoted.maker.id), 'auditor', house.act())
  for (const stream of streams) while (await stream.next());
  assert.equal((await revoked.call('GET', path)).status, 401)
})

test('a credential has twenty streams at most', async () => {
  const program = await openAdminProgram(house, { role: 'auditor' })
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => hearAudit(house.internalUrl, 'after=0', program.headers)),
  )
  assert.deepEqual(new Set(streams.map(({ status }) => status)), new Set([200]))
  const refused = await program.call('GET', path, undefined, { accept: 'text/event-stream' })
  assert.equal(refused.status, 429)
  streams[0]!.close()
  await eventually('a free place', async () => {
    const again = await hearAudit(house.internalUrl, 'after=0', program.headers)
    again.close()
    return again.status === 200
  })
  for (const stream of streams) stream.close()
})

test('a reader that stops reading is waited for: what it has not taken is not in memory', async () => {
  const own = await openTestGateway()
  const program = await openAdminProgram(own, { role: 'auditor' })
  await own.gateway.context.db.script(`INSERT INTO audit_entries (at, actor, action, subject, details)
    SELECT now(), 'operator:olga', 'client.updated', 'client:' || n, jsonb_build_object('note', repeat('x', 2000))
    FROM generate_series(1, 3000) n`)
  await sealAll(own.gateway.context.db, own.clock.now(), 'wait')
  const responses: ServerResponse[] = []
  const note = (message: unknown) => responses.push((message as { response: ServerResponse }).response)
  channel('http.server.response.created').subscribe(note)
  const { hostname, port } = new URL(own.internalUrl)
  const socket = connect(Number(port), hostname)
  const head = `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\n`
  socket.write(`${head}authorization: ${program.headers.authorization}\r\nconnection: close\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  const [out] = responses
  await eventually('it waits', () => out!.writableNeedDrain)
  assert.ok(out!.writableLength < 256 * 1024, `${out!.writableLength} bytes`)
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  socket.resume()
  await eventually('everything', () => text.slice(-2_000).includes('"signature"'))
  const subjects = [...text.matchAll(/"subject":"client:(\d+)"/g)].map(([, number]) => Number(number))
  assert.deepEqual(
    subjects,
    Array.from({ length: 3_000 }, (_, place) => place + 1),
  )
  channel('http.server.response.created').unsubscribe(note)
  socket.destroy()
  await own.close()
})

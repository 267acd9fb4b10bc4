import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { request } from 'undici'
import { getPartner } from '../../src/partners/partner.ts'
import { createService } from '../../src/services/service.ts'
import {
  achProfile,
  application,
  type BranchProgram,
  callJson,
  type Headers,
  openBranch,
  type ProblemAnswer,
  transaction,
} from '../support/branch.ts'
import { eventually } from '../support/eventually.ts'
import { basic, openHouse, openTestGateway, type TestGateway } from '../support/gateway.ts'

interface LogBody {
  readonly sequence: number
  readonly eventId: string
  readonly kind: string
  readonly action: string
  readonly entity: string
  readonly simulated: boolean
  readonly createdAt: number
  readonly body: string
}
interface Page {
  readonly events: LogBody[]
  readonly after: number
  readonly oldest: number
  readonly newest: number
}

const house = await openHouse()

async function pull(program: BranchProgram, query = ''): Promise<Page> {
  const answer = await program.call('GET', `/v2/events?${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Page>()
}

/** Publishes test webhooks one after the other; the answer to each means that it is numbered. */
async function fireAll(program: BranchProgram, count: number): Promise<void> {
  for (let place = 0; place < count; place++)
    await program.call('POST', '/v2/webhooks/transaction', transaction({ clearingAccount: `place ${place}` }))
}

const oneTo = (count: number) => Array.from({ length: count }, (_, place) => place + 1)
const sequencesOf = (events: readonly LogBody[]) => events.map(({ sequence }) => sequence)

interface Stream {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  /** The next event, or undefined at the end of the stream. */
  next(): Promise<{ id: string; event: string; data: LogBody } | undefined>
  close(): void
}

async function openStream(program: BranchProgram, query = '', headers: Headers = {}): Promise<Stream> {
  const leave = new AbortController()
  const answer = await request(`${program.origin}/v2/events?${query}`, {
    headers: { ...program.credentials, accept: 'text/event-stream', ...headers },
    signal: leave.signal,
  })
  answer.body.on('error', () => {})
  const blocks = readBlocks(answer.body)
  return {
    status: answer.statusCode,
    headers: answer.headers,
    async next() {
      for (;;) {
        const { value, done } = await blocks.next()
        if (done) return undefined
        const fields = Object.fromEntries(value.split('\n').map((line) => line.split(/: (.*)/s, 2)))
        if (fields.data !== undefined)
          return { id: fields.id!, event: fields.event!, data: JSON.parse(fields.data) }
      }
    },
    close: () => leave.abort(),
  }
}

async function* readBlocks(body: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop()!
    yield* blocks
  }
}

async function take(stream: Stream, count: number): Promise<LogBody[]> {
  const events: LogBody[] = []
  while (events.length < count) {
    const next = await stream.next()
    if (!next) throw new Error(`The stream ended after ${events.length} of ${count} events`)
    assert.equal(next.id, String(next.data.sequence))
    assert.equal(next.event, next.data.kind)
    events.push(next.data)
  }
  return events
}

test('the log of a branch begins empty and is numbered from 1 without a gap', async () => {
  const program = await openBranch(house)
  assert.deepEqual(await pull(program), { events: [], after: 0, oldest: 1, newest: 0 })
  const sent = transaction({ clearingAccount: 'Zürich 🏦' })
  const { eventId } = await program.fire(sent)
  await program.fire(application())
  await program.fire(achProfile())
  const page = await pull(program)
  assert.deepEqual([page.after, page.oldest, page.newest], [3, 1, 3])
  assert.deepEqual(sequencesOf(page.events), [1, 2, 3])
  assert.deepEqual(
    page.events.map(({ kind }) => kind),
    ['TRANSACTION', 'APPLICATION', 'ACH_PROFILE'],
  )
  const [first] = page.events
  assert.deepEqual(JSON.parse(first!.body), sent)
  assert.deepEqual(first, {
    sequence: 1,
    eventId,
    kind: 'TRANSACTION',
    action: 'SUBMITTED',
    entity: `transaction:${sent.transactionId}:test`,
    simulated: true,
    createdAt: house.clock.now().getTime(),
    body: first!.body,
  })
})

test('pages follow each other by after=, and the last one can be asked for again until something comes', async () => {
  const program = await openBranch(house)
  await fireAll(program, 7)
  const seen: number[] = []
  let cursor = 0
  for (const size of [3, 3, 1, 0, 0]) {
    const page = await pull(program, `after=${cursor}&limit=3`)
    assert.equal(page.events.length, size)
    seen.push(...sequencesOf(page.events))
    cursor = page.after
  }
  assert.deepEqual(seen, oneTo(7))
  await fireAll(program, 1)
  assert.deepEqual(sequencesOf((await pull(program, `after=${cursor}`)).events), [8])
})

test('a number beyond the newest is 409 with the newest, as a page and as a stream: a database that was restored behind its readers says so', async () => {
  const program = await openBranch(house)
  await fireAll(program, 2)
  for (const accept of ['application/json', 'text/event-stream']) {
    const answer = await program.call('GET', '/v2/events?after=3', undefined, { accept })
    assert.equal(answer.status, 409, answer.text)
    assert.match(
      answer.json<{ error_description: string }>().error_description,
      /number 3 is beyond the newest of this branch, which is 2\./,
    )
  }
  assert.deepEqual((await pull(program, 'after=2')).events, [])
})

test('a reader that follows parallel publishers never sees a gap, nor a number twice', async () => {
  const program = await openBranch(house)
  const { service, secret } = await createService(house.gateway.context.db, 'ledger', 'live', house.act())
  const asService = basic({ id: service.id, secret: secret.text })
  const publishers = oneTo(20).map(async (count) => {
    const events = oneTo(count).map(() => transaction({ branchId: program.branchId }))
    const answer = await callJson(`${house.internalUrl}/internal/v1/events`, 'POST', { events }, asService)
    assert.equal(answer.status, 202)
  })
  const total = 210
  const seen: number[] = []
  while (seen.length < total)
    seen.push(...sequencesOf((await pull(program, `after=${seen.at(-1) ?? 0}&limit=10`)).events))
  await Promise.all(publishers)
  assert.deepEqual(seen, oneTo(total))
})

test('every branch, and every environment of it, has a log and numbers of its own', async () => {
  const [first, second] = [await openBranch(house), await openBranch(house)]
  const partner = await getPartner(house.gateway.context.db, String(first.branchId))
  const client = await house.makeClient({ partner, environment: 'sandbox' })
  const sandbox = await openBranch(house, { environment: 'sandbox', client })
  await fireAll(first, 3)
  await fireAll(second, 2)
  await fireAll(sandbox, 1)
  const ids = new Set<string>()
  for (const [program, count] of [
    [first, 3],
    [second, 2],
    [sandbox, 1],
  ] as const) {
    const { events } = await pull(program)
    assert.deepEqual(sequencesOf(events), oneTo(count))
    for (const { eventId } of events) ids.add(eventId)
  }
  assert.equal(ids.size, 6)
})

test('a number or a limit that cannot be is 400', async () => {
  const program = await openBranch(house)
  for (const query of [
    'after=-1',
    'after=x',
    'after=1.5',
    'after=',
    'after=1&after=2',
    'after=1e3',
    'limit=0',
    'limit=101',
  ]) {
    const answer = await program.call('GET', `/v2/events?${query}`)
    assert.equal(answer.status, 400, query)
    assert.match(answer.json<ProblemAnswer>().fields![0]!.field, /^(after|limit)$/)
  }
})

test('the stream gives what is there and then what comes, as it comes', async (t) => {
  const program = await openBranch(house)
  await fireAll(program, 2)
  const stream = await openStream(program)
  t.after(() => stream.close())
  assert.equal(stream.status, 200)
  assert.equal(stream.headers['content-type'], 'text/event-stream')
  assert.equal(stream.headers['cache-control'], 'no-store')
  const early = await take(stream, 2)
  await fireAll(program, 2)
  const late = await take(stream, 2)
  assert.deepEqual([...early, ...late], (await pull(program)).events)
})

test('a stream resumes after Last-Event-ID, which counts before after=', async (t) => {
  const program = await openBranch(house)
  await fireAll(program, 5)
  const first = await openStream(program)
  const read = await take(first, 2)
  first.close()
  const resumed = await openStream(program, 'after=0', { 'last-event-id': String(read.at(-1)!.sequence) })
  t.after(() => resumed.close())
  assert.deepEqual(sequencesOf(await take(resumed, 3)), [3, 4, 5])
  const later = await openStream(program, 'after=4')
  t.after(() => later.close())
  assert.deepEqual(sequencesOf(await take(later, 1)), [5])
  const odd = await openStream(program, 'after=4', { 'last-event-id': 'nonsense' })
  t.after(() => odd.close())
  assert.deepEqual(sequencesOf(await take(odd, 1)), [5])
})

test('a stream of more events than a page comes whole', async (t) => {
  const program = await openBranch(house)
  await publishMany(house, program, 350)
  const stream = await openStream(program)
  t.after(() => stream.close())
  assert.deepEqual(sequencesOf(await take(stream, 350)), oneTo(350))
})

test('a stream without credentials is 401, with a bad number 400, as JSON', async () => {
  const program = await openBranch(house)
  const accept = { accept: 'text/event-stream' }
  const stranger = await callJson(`${house.baseUrl}/v2/events`, 'GET', undefined, accept)
  assert.equal(stranger.status, 401)
  assert.equal(stranger.json<ProblemAnswer>().error, 'unauthorized')
  assert.equal((await program.call('GET', '/v2/events?after=x', undefined, accept)).status, 400)
})

/** About a kilobyte an event, in batches of a thousand. */
async function publishMany(where: TestGateway, program: BranchProgram, count: number): Promise<void> {
  const { db } = where.gateway.context
  const { service, secret } = await createService(db, 'bulk', 'live', where.act())
  const asService = basic({ id: service.id, secret: secret.text })
  for (let left = count; left > 0; left -= 1_000) {
    const events = oneTo(Math.min(left, 1_000)).map(() =>
      transaction({
        branchId: program.branchId,
        clearingAccount: 'x'.repeat(100),
        email: `${'e'.repeat(300)}@example.com`,
      }),
    )
    const answer = await callJson(`${where.internalUrl}/internal/v1/events`, 'POST', { events }, asService)
    assert.equal(answer.status, 202, answer.text)
  }
  // Answered when everything before it is numbered.
  await program.call('POST', '/v2/webhooks/transaction', transaction({ clearingAccount: 'the end' }))
}

/** A client that asks for the stream, takes the first bytes and then stops reading. */
async function openStalled(where: TestGateway, program: BranchProgram): Promise<Socket> {
  const { hostname, port } = new URL(where.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const lines = [
    'GET /v2/events HTTP/1.1',
    `host: ${hostname}`,
    'accept: text/event-stream',
    `authorization: ${program.credentials.authorization}`,
    'connection: close',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  return socket
}

test('a branch has twenty streams open at most; one that is closed makes room', async () => {
  const [program, other] = [await openBranch(house), await openBranch(house)]
  const open = await Promise.all(oneTo(20).map(() => openStream(program)))
  assert.deepEqual(new Set(open.map((stream) => stream.status)), new Set([200]))
  const headers = { accept: 'text/event-stream' }
  const refused = await program.call('GET', '/v2/events', undefined, headers)
  assert.deepEqual([refused.status, refused.json().error], [429, 'too_many_requests'])
  assert.ok(Number(refused.headers['retry-after']) > 0)
  const neighbour = await openStream(other)
  assert.equal(neighbour.status, 200)
  open[0]!.close()
  await eventually('a free place', async () => {
    const again = await openStream(program)
    again.close()
    return again.status === 200
  })
  for (const stream of [...open, neighbour]) stream.close()
})

test('a slow reader costs the others nothing and in the end has everything, in order', {
  timeout: 60_000,
}, async () => {
  const program = await openBranch(house)
  const socket = await openStalled(house, program)
  await publishMany(house, program, 5_000)
  const quick = await openStream(program)
  assert.deepEqual(sequencesOf(await take(quick, 5_001)), oneTo(5_001))
  quick.close()
  const ids: number[] = []
  let text = ''
  socket.setEncoding('latin1')
  await new Promise<void>((done) => {
    socket.on('data', (chunk: string) => {
      text += chunk
      // Chunked encoding may cut anywhere, so the whole is read in the end.
      if (text.slice(-4_000).includes('the end')) done()
    })
    socket.resume()
  })
  socket.destroy()
  for (const match of dechunk(text).matchAll(/^id: (\d+)$/gm)) ids.push(Number(match[1]))
  assert.deepEqual(ids, oneTo(5_001))
})

/** Takes the sizes of chunked encoding out; the part before the first read chunk may be missing. */
function dechunk(text: string): string {
  return text.replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '')
}

test('streams end when the gateway closes', { timeout: 60_000 }, async () => {
  const closing = await openTestGateway()
  const program = await openBranch(closing)
  await fireAll(program, 1)
  const stream = await openStream(program)
  await take(stream, 1)
  const [end] = await Promise.all([stream.next(), closing.close()])
  assert.equal(end, undefined)
})

test('a reader that has stopped reading does not keep the gateway from closing', {
  timeout: 60_000,
}, async () => {
  const closing = await openTestGateway()
  const program = await openBranch(closing)
  const socket = await openStalled(closing, program)
  await publishMany(closing, program, 5_000)
  const closed = closing.close().then(() => 'closed')
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(resolve, 10_000, 'still open after ten seconds')
  const outcome = await Promise.race([closed, late])
  clearTimeout(timer)
  socket.destroy()
  await closed
  assert.equal(outcome, 'closed')
})

test('a client that leaves in the middle of a stream leaves nothing behind', async () => {
  const closing = await openTestGateway()
  const program = await openBranch(closing)
  await publishMany(closing, program, 2_000)
  const sockets = await Promise.all(oneTo(5).map(() => openStalled(closing, program)))
  for (const socket of sockets) socket.destroy()
  assert.equal((await program.call('GET', '/v2/events?limit=1')).status, 200)
  await closing.close()
})

test('whoever takes JSON as well as a stream gets a page: clients that are generated name both, and wait for the end', async () => {
  const program = await openBranch(house)
  await fireAll(program, 1)
  const both = [
    'application/json, text/event-stream',
    'text/event-stream,application/json',
    'Text/Event-Stream, Application/JSON',
  ]
  for (const accept of [...both, '*/*', 'application/json']) {
    const answer = await callJson(`${house.baseUrl}/v2/events`, 'GET', undefined, {
      ...program.credentials,
      accept,
    })
    assert.equal(answer.json<Page>().events.length, 1, accept)
  }
})

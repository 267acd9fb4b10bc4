import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { minute } from '../../src/clock.ts'
import { ask } from '../support/ask.ts'
import { application, type BranchProgram, openBranch, transaction } from '../support/branch.ts'
import { eventually } from '../support/eventually.ts'
import { followByHand } from '../support/follow.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { secretFile } from '../support/process.ts'
import { answer, openReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'
import { type CommandResult, openCommandLineAt } from './command-line.ts'

const program = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url))

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
// The command line lives by the time of day; for the gateway what it writes must not lie in the future.
house.clock.advance(Date.now() + 10 * minute - house.clock.now().getTime())
const receiver = await keepOpen(openReceiver())
const branch = await openBranch(house)
const line = await keepOpen(openCommandLineAt(house.settings))
const folder = mkdtempSync(join(tmpdir(), 'countersign-cli-'))
after(() => rmSync(folder, { recursive: true, force: true }))

type Cleanup = { after(close: () => unknown): void }

async function openSink(t: Cleanup): Promise<Receiver> {
  const sink = await openReceiver()
  t.after(() => sink.close())
  return sink
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program, ...args], { env: house.settings, stdio: 'pipe' })
}

/** What reads its input, or goes on, has a process of its own. */
function run(args: readonly string[], input?: string): Promise<CommandResult> {
  return input === undefined && args[0] !== 'listen' ? line.run(...args) : runApart(args, input)
}

async function runApart(args: readonly string[], input = ''): Promise<CommandResult> {
  const child = start(args)
  let stdout = ''
  let stderr = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin!.on('error', () => {}).end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

/** A command on the branch that succeeds, and what it prints as JSON. */
async function say<Value = Record<string, unknown>>(args: readonly string[], input?: string): Promise<Value> {
  const { code, stdout, stderr } = await run([...args, '--json'], input)
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as Value
}

/** What programs read it by. */
const namesOf = (record: object) => Object.keys(record).join(' ')

const ofBranch = () => ['--partner', String(branch.branchId)]
const newest = () => receiver.received.at(-1)!

function isSigned({ body, headers }: ReceivedRequest, secret: string): boolean {
  return headers['x-webhook-signature'] === createHmac('sha256', secret).update(body).digest('hex')
}

test('a webhook is created, listed, paused, resumed and deleted', async () => {
  const created = await say<{ id: number; url: string; state: string }>([
    ...[
      'webhook',
      'create',
      ...ofBranch(),
      '--url',
      receiver.url('/hooks'),
      '--secret-file',
      secretFile('a secret of its own'),
    ],
    ...['--kinds', 'TRANSACTION,APPLICATION'],
  ])
  assert.deepEqual([created.url, created.state], [receiver.url('/hooks'), 'active'])
  assert.equal(
    namesOf(created),
    'id branch_id environment client_id url kinds state disabled_reason created_at updated_at actions rate_limit headers description',
  )
  assert.ok(!JSON.stringify(created).includes('a secret of its own'))
  assert.equal((await branch.call('GET', `/v2/webhooks/${created.id}`)).status, 200)
  const listed = await say<{ id: number; kinds: string[] }[]>(['webhook', 'list', ...ofBranch()])
  assert.deepEqual(
    listed.map(({ id, kinds }) => [id, kinds]),
    [[created.id, ['TRANSACTION', 'APPLICATION']]],
  )
  assert.equal(
    namesOf(listed[0]!),
    'id url kinds state health failing_since why disabled_reason created_at new_secret_signs_from description',
  )
  const inSandbox = await say<unknown[]>(['webhook', 'list', ...ofBranch(), '--environment', 'sandbox'])
  assert.deepEqual(inSandbox, [])
  await branch.fire()
  assert.ok(isSigned(newest(), 'a secret of its own'))
  const id = String(created.id)
  assert.equal((await say<{ state: string }>(['webhook', 'pause', id, ...ofBranch()])).state, 'paused')
  assert.equal((await say<{ state: string }>(['webhook', 'resume', id, ...ofBranch()])).state, 'active')
  await say(['webhook', 'rotate-secret', id, ...ofBranch(), '--secret-file', '-'], 'a newer secret\n')
  await branch.fire()
  assert.ok(isSigned(newest(), 'a newer secret'))
  assert.deepEqual(await say(['webhook', 'delete', id, ...ofBranch()]), { deleted_webhook: created.id })
  assert.equal((await branch.call('GET', `/v2/webhooks/${id}`)).status, 404)
})

interface Health {
  readonly id: number
  readonly state: string
  readonly health: string
  readonly failing_since: string | null
  readonly why: string | null
}

const healthOf = ({ state, health, why }: Health) => ({ state, health, why })

test('the list and webhook show say how a webhook is, since when it fails and why, in the words of the pages', async (t) => {
  const lane = await openBranch(house)
  const sink = await openSink(t)
  const words = ['--partner', String(lane.branchId)]
  const id = await lane.register(sink.url('/hooks'), {
    description: 'Ledger',
    headers: { 'X-Key': 'sesame' },
  })
  const list = async () => (await say<Health[]>(['webhook', 'list', ...words]))[0]!
  const show = () => say<Health & Record<string, unknown>>(['webhook', 'show', String(id), ...words])
  const well = { state: 'active', health: 'not tried yet', why: null }
  assert.deepEqual([healthOf(await list()), healthOf(await show())], [well, well])
  sink.otherwise = answer(404)
  let transactions = 0
  const happen = () =>
    lane.call('POST', '/v2/webhooks/transaction', transaction({ transactionId: ++transactions }))
  await happen()
  const told = async (health: string) => {
    await eventually(health, async () => (await list()).health === health && (await list()).why !== null)
    const [listed, shown] = [await list(), await show()]
    assert.deepEqual(healthOf(listed), healthOf(shown))
    assert.match(listed.why!, /^HTTP 404: /)
    assert.ok(listed.failing_since !== null && listed.failing_since === shown.failing_since)
    return shown
  }
  const failing = await told('failing')
  assert.equal(
    namesOf(failing),
    'id branch_id environment client_id url kinds state disabled_reason created_at updated_at actions rate_limit headers description ' +
      'signs_with secret_created_at new_secret_signs_from health failing_since why',
  )
  const { headers, description, signs_with } = failing
  assert.deepEqual(
    { headers, description, signs_with },
    { headers: ['x-key'], description: 'Ledger', signs_with: 'client secret' },
  )
  assert.ok(typeof failing.secret_created_at === 'string' && !JSON.stringify(failing).includes('sesame'))
  for (let n = 0; n < 9; n++) await happen()
  await told('failing: one retry a minute')
  const { stdout } = await run(['webhook', 'list', ...words])
  assert.match(stdout, /failing: one retry a minute .* HTTP 404: /)
  await say(['webhook', 'pause', String(id), ...words])
  assert.deepEqual(healthOf(await list()), { state: 'paused', health: 'paused', why: null })
  const foreign = await run(['webhook', 'show', String(id), ...ofBranch()])
  assert.deepEqual([foreign.code, foreign.stderr], [1, `This branch has no webhook ${id}.\n`])
})

test('webhook show says since when there has been the secret that signs, its own or the client’s', async () => {
  const lane = await openBranch(house)
  const words = ['--partner', String(lane.branchId)]
  const id = String(await lane.register(receiver.url('/aged'), { rateLimit: 50 }))
  type PrintedWebhook = {
    rate_limit: number
    signs_with: string
    secret_created_at: string
    new_secret_signs_from: string | null
  }
  const show = () => say<PrintedWebhook>(['webhook', 'show', id, ...words])
  const borrowed = await show()
  assert.deepEqual(
    [borrowed.signs_with, borrowed.new_secret_signs_from, borrowed.rate_limit],
    ['client secret', null, 50],
  )
  const rotate = [
    'webhook',
    'rotate-secret',
    id,
    ...words,
    '--secret-file',
    secretFile('a secret of its own'),
  ]
  await say([...rotate, '--switch-after', '2h'])
  const waiting = await show()
  assert.deepEqual(
    [waiting.signs_with, waiting.secret_created_at],
    ['client secret', borrowed.secret_created_at],
  )
  assert.ok(waiting.new_secret_signs_from !== null)
  const before = Date.now()
  await say(rotate)
  const own = await show()
  assert.equal(own.signs_with, 'own secret')
  assert.ok(Date.parse(own.secret_created_at) >= before)
})

test('a new secret of a webhook signs at once, or from a moment that is chosen with it and shown', async (t) => {
  const sink = await openSink(t)
  const created = await say<{ id: number }>([
    ...[
      'webhook',
      'create',
      ...ofBranch(),
      '--url',
      sink.url('/hooks'),
      '--secret-file',
      secretFile('the first secret'),
    ],
  ])
  const id = String(created.id)
  const rotate = [
    'webhook',
    'rotate-secret',
    id,
    ...ofBranch(),
    '--secret-file',
    secretFile('the second secret'),
  ]
  const before = Date.now()
  const rotated = await say<{ signs_from: string; old_secret_ends_at: string }>([
    ...rotate,
    '--switch-after',
    '2h',
  ])
  const signsFrom = Date.parse(rotated.signs_from)
  assert.ok(signsFrom >= before + 120 * minute && signsFrom <= Date.now() + 120 * minute)
  assert.equal(Date.parse(rotated.old_secret_ends_at), signsFrom + 1_440 * minute)
  const listed = await say<{ id: number; new_secret_signs_from: string | null }[]>([
    'webhook',
    'list',
    ...ofBranch(),
  ])
  assert.equal(listed.find((each) => each.id === created.id)!.new_secret_signs_from, rotated.signs_from)
  await branch.fire()
  assert.ok(isSigned(sink.received.at(-1)!, 'the first secret'))
  house.clock.advance(180 * minute)
  await branch.fire()
  assert.ok(isSigned(sink.received.at(-1)!, 'the second secret'))
  const tooLate = await run([...rotate, '--switch-after', '8d'])
  assert.deepEqual([tooLate.code, tooLate.stderr], [1, 'switch-after must be at most 7d.\n'])
  const { stdout: help } = await run(['webhook', 'rotate-secret', '--help'])
  assert.match(help, /--switch-after DURATION +how long the old one still signs, at most 7d: 0s unless given/)
  await say(['webhook', 'delete', id, ...ofBranch()])
})

test('a receiver that was down is recovered, and what nobody wants any more is skipped', async (t) => {
  const sink = await openSink(t)
  const { db } = house.gateway.context
  const created = await say<{ id: number }>([
    'webhook',
    'create',
    ...ofBranch(),
    '--url',
    `${sink.url('/hooks')}/down`,
  ])
  const id = String(created.id)
  await say(['webhook', 'pause', id, ...ofBranch()])
  await branch.call('POST', '/v2/webhooks/transaction', transaction())
  const listed = () =>
    say<{ id: string; state: string; attempts: number }[]>(['delivery', 'list', id, ...ofBranch()])
  const [waiting] = await listed()
  assert.equal(waiting!.state, 'waiting')
  const refused = await run(['webhook', 'recover', id, ...ofBranch(), '--since', '6h'])
  assert.deepEqual([refused.code, refused.stderr], [1, 'This webhook is paused. Resume it, then recover.\n'])
  const counted = await say([
    'webhook',
    'recover',
    id,
    ...ofBranch(),
    '--since',
    '2026-01-01T00:00:00Z',
    '--dry-run',
  ])
  assert.equal(counted.total, 0)
  const skipped = await say(['delivery', 'skip', waiting!.id, ...ofBranch(), '--reason', 'a mistake'])
  assert.deepEqual(skipped, { delivery: waiting!.id, state: 'canceled', reason: 'a mistake' })
  for (let turn = 0; turn < 2; turn++) await branch.call('POST', '/v2/webhooks/transaction', transaction())
  const all = await say<{ skipped: number }>(['webhook', 'skip-waiting', id, ...ofBranch()])
  assert.equal(all.skipped, 2)
  assert.equal(namesOf(all), 'id webhook_id reason asked_by skipped created_at')
  // Switched off by the gateway, with something waiting: a recovery switches it on again.
  await branch.call('POST', '/v2/webhooks/transaction', transaction())
  await ask(db, `UPDATE webhooks SET state = 'disabled', disabled_reason = 'x' WHERE id = $1`, [created.id])
  await db.script(followByHand)
  const before = sink.received.length
  const recovered = await say<{ state: string; total: number; done: number }>([
    ...['webhook', 'recover', id, ...ofBranch(), '--since', '6h'],
  ])
  assert.deepEqual([recovered.state, recovered.total, recovered.done], ['finished', 0, 0])
  await sink.wait(before + 1)
  const { stdout: help } = await run(['webhook', 'recover', '--help'])
  assert.match(help, /--since TIME +when the trouble began/)
  for (const since of ['yesterday', '2999-01-01']) {
    const wrong = await run(['webhook', 'recover', id, ...ofBranch(), '--since', since])
    assert.deepEqual([wrong.code, /^since must be a time that has passed/.test(wrong.stderr)], [1, true])
  }
  await say(['webhook', 'delete', id, ...ofBranch()])
})

test('mistakes end with a sentence and a status: 2 for the words, 1 for what they ask', async () => {
  const cases: [args: string[], code: number, about: RegExp][] = [
    [['webhook', 'create', ...ofBranch()], 2, /--url/],
    [['webhook', 'create', '--url', receiver.url('/hooks')], 2, /--partner/],
    [['webhook', 'create', ...ofBranch(), '--url', 'http://example.com/'], 1, /url must begin with https/],
    [
      ['webhook', 'create', ...ofBranch(), '--url', receiver.url('/hooks'), '--kinds', 'ALL'],
      1,
      /kinds must be some of/,
    ],
    [
      [
        'webhook',
        'create',
        ...ofBranch(),
        '--url',
        receiver.url('/hooks'),
        '--secret-file',
        secretFile('short'),
      ],
      1,
      /^--secret-file must have/,
    ],
    [['webhook', 'list', '--partner', 'Nobody'], 1, /no partner "Nobody"/],
    [['webhook', 'list', ...ofBranch(), '--environment', 'staging'], 1, /live or sandbox/],
    [['webhook', 'pause', ...ofBranch()], 2, /webhook/],
    [['webhook', 'pause', '999999', ...ofBranch()], 1, /no webhook 999999/],
    [['webhook', 'replay', '999999', ...ofBranch(), '--failed'], 1, /no webhook/],
    [['delivery', 'show', '999999', ...ofBranch()], 1, /no delivery/],
    [['event', 'publish', '-', '--colour', 'red'], 2, /colour/],
    [['event', 'publish', join(folder, 'absent.json')], 1, /absent\.json/],
    [
      [
        'listen',
        '--forward-to',
        'nonsense',
        '--url',
        'x',
        '--client-id',
        'x',
        '--client-secret-file',
        secretFile('x'),
      ],
      2,
      /forward-to/,
    ],
    [['listen'], 2, /--url, --client-id and --client-secret-file/],
  ]
  for (const [args, code, about] of cases) {
    const { stderr, ...result } = await run(args)
    assert.deepEqual(result, { code, stdout: '' }, `${args.join(' ')}: ${stderr}`)
    assert.match(stderr, about)
    assert.doesNotMatch(stderr, /^\s+at /m, 'no stack')
  }
})

test('events are published from a file and from standard input, their amounts to the digit', async (t) => {
  const lane = await openBranch(house)
  const sink = await openSink(t)
  await lane.register(sink.url('/hooks'))
  const { branchId } = lane
  const one = JSON.stringify(transaction({ branchId, amount: 0 })).replace('"amount":0', '"amount": 500.10')
  const file = join(folder, 'events.json')
  writeFileSync(file, `[${one}, ${JSON.stringify(application({ branchId }))}]`)
  const published = await say<{ event_id: string }[]>(['event', 'publish', file])
  const received = await sink.wait(2)
  assert.deepEqual(
    received.map(({ headers }) => headers['webhook-id']).sort(),
    published.map(({ event_id }) => event_id).sort(),
  )
  assert.ok(received.some(({ body }) => body.includes('"amount":500.10,')))
  const args = ['event', 'publish', '-', '--idempotency-key', 'once']
  const first = await say<{ event_id: string }[]>(args, one)
  const second = await say<{ event_id: string }[]>(args, one)
  assert.deepEqual(second, first)
  await sink.wait(3)
  const log = await lane.call('GET', '/v2/events')
  assert.equal(log.json<{ newest: number }>().newest, 3)
})

test('a bad event is named by its index and nothing of the file is published', async () => {
  const lane = await openBranch(house)
  const good = transaction({ branchId: lane.branchId })
  const texts = [
    [JSON.stringify([good, { ...good, amount: -1 }]), /events\.1\.amount/],
    [JSON.stringify([good, { ...good, type: 'OTHER' }]), /events\.1\.type/],
    [JSON.stringify([good, null]), /events\.1/],
    [JSON.stringify([good, { ...good, branchId: 999_999 }]), /events\.1\.branchId/],
    [JSON.stringify([good, { ...good, branchId: 2 ** 31 }]), /events\.1\.branchId/],
    [
      JSON.stringify([good, { ...good, amount: 0 }]).replace('"amount":0', '"amount":1e400'),
      /events\.1\.amount is too large/,
    ],
    [
      JSON.stringify([good, { ...good, amount: 0 }]).replace('"amount":0', '"amount":-1e-400'),
      /events\.1\.amount must be >= 0/,
    ],
    ['{', /JSON/],
  ] as const
  const file = join(folder, 'bad.json')
  for (const [text, about] of texts) {
    writeFileSync(file, text)
    const { code, stderr } = await run(['event', 'publish', file])
    assert.equal(code, 1, text)
    assert.match(stderr, about)
  }
  assert.equal((await lane.call('GET', '/v2/events')).json<{ newest: number }>().newest, 0)
})

test('deliveries are listed, shown with their attempts, sent again and replayed', async (t) => {
  const lane = await openBranch(house)
  const sink = await openSink(t)
  const words = ['--partner', String(lane.branchId)]
  const webhookId = String(await lane.register(sink.url('/hooks')))
  const { id } = (await lane.fire(transaction({ transactionId: 42 }))).deliveries[0]!
  await lane.fire(transaction({ transactionId: 43 }))
  const list = (...more: string[]) =>
    say<{ id: string }[]>(['delivery', 'list', webhookId, ...words, ...more])
  assert.equal((await list()).length, 2)
  assert.equal((await list('--limit', '1')).length, 1)
  assert.equal(namesOf((await list())[0]!), 'id kind action entity state attempts created_at next_attempt_at')
  assert.equal((await list('--state', 'exhausted')).length, 0)
  assert.deepEqual(
    (await list('--entity', 'transaction:42:test')).map((each) => each.id),
    [id],
  )
  const shown = await say<{ body: string; log: { outcome: string }[] }>(['delivery', 'show', id, ...words])
  assert.equal(shown.body, sink.received[0]!.body)
  assert.deepEqual(
    shown.log.map(({ outcome }) => outcome),
    ['accepted'],
  )
  assert.equal(namesOf(shown.log[0]!), 'number at duration_ms outcome status why detail response')
  assert.equal(
    namesOf(shown),
    'id webhook_id event_id state entity attempts next_attempt_at created_at settled_at repeats reason canceled_by kind action body simulated log',
  )
  const again = await say<{ redelivering: string; delivery: string }>(['delivery', 'redeliver', id, ...words])
  assert.equal(again.redelivering, id)
  const repeat = await say<{ repeats: string }>(['delivery', 'show', again.delivery, ...words])
  assert.equal(repeat.repeats, id)
  await sink.wait(3)
  const dry = ['webhook', 'replay', webhookId, ...words, '--entity', 'transaction:43:test', '--dry-run']
  assert.deepEqual(await say(dry), { total: 1 })
  assert.equal(sink.received.length, 3)
  const replay = await say<{ state: string; total: number; done: number }>([
    ...['webhook', 'replay', webhookId, ...words, '--entity', 'transaction:43:test'],
  ])
  assert.deepEqual([replay.state, replay.total, replay.done], ['finished', 1, 1])
  assert.equal(namesOf(replay), 'id webhook_id selection state total done pulled created_at finished_at')
  await sink.wait(4)
  assert.equal(sink.received[3]!.headers['webhook-id'], sink.received[1]!.headers['webhook-id'])
  assert.equal((await run(['webhook', 'replay', webhookId, ...words])).code, 1)
  assert.equal((await run(['delivery', 'show', id, ...ofBranch()])).code, 1, "another branch's delivery")
})

/** A listening command, stopped by its process id when the test ends. */
async function listen(t: Cleanup, args: readonly string[]) {
  const child = start(['listen', ...args])
  const ended = once(child, 'exit')
  t.after(async () => {
    process.kill(child.pid!, 'SIGTERM')
    await ended
  })
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const line = async () => String((await lines.next()).value)
  assert.match(await line(), /^Listening to /)
  return { line }
}

const account = ({ client, origin }: BranchProgram) => [
  ...['--url', origin, '--client-id', client.id, '--client-secret-file', secretFile(client.secret)],
]

test('listen forwards each new event to a local program, signed as a delivery is', async (t) => {
  const lane = await openBranch(house)
  const sink = await openSink(t)
  await lane.call('POST', '/v2/webhooks/transaction', transaction())
  const listening = await listen(t, [...account(lane), '--forward-to', sink.url('/hooks')])
  const sent = transaction({ clearingAccount: 'Zürich 🏦' })
  const { eventId } = await lane.fire(sent)
  const [received] = await sink.wait(1)
  assert.equal(received!.headers['webhook-id'], eventId, 'what came before is not forwarded')
  assert.equal(received!.headers['content-type'], 'application/json')
  assert.deepEqual(JSON.parse(received!.body), sent)
  assert.ok(isSigned(received!, lane.client.secret))
  const base = `${eventId}.${received!.headers['webhook-timestamp']}.${received!.body}`
  const expected = createHmac('sha256', lane.client.secret).update(base).digest('base64')
  assert.equal(received!.headers['webhook-signature'], `v1,${expected}`)
  assert.match(await listening.line(), new RegExp(`TRANSACTION SUBMITTED .*${eventId}.*200`))
  sink.otherwise = answer(500)
  await lane.fire()
  assert.match(await listening.line(), /500/)
})

test('listen begins after a number, signs with a secret of its own, and goes on when the local program is away', async (t) => {
  const lane = await openBranch(house)
  const sink = await openSink(t)
  const first = await lane.fire()
  const second = await lane.fire()
  const args = [
    ...account(lane),
    '--forward-to',
    sink.url('/hooks'),
    '--secret-file',
    secretFile('my_webhook_secret'),
    '--after',
    '0',
  ]
  const listening = await listen(t, args)
  const received = await sink.wait(2)
  assert.deepEqual(
    received.map(({ headers }) => headers['webhook-id']),
    [first.eventId, second.eventId],
  )
  for (const each of received) assert.ok(isSigned(each, 'my_webhook_secret'))
  await listening.line()
  await listening.line()
  await sink.close()
  await lane.fire()
  assert.match(await listening.line(), /Nothing answers at /)
})

test('listen without --forward-to prints the payloads', async (t) => {
  const lane = await openBranch(house)
  const { eventId } = await lane.fire(transaction({ transactionId: 42 }))
  const listening = await listen(t, [...account(lane), '--after', '0'])
  const line = await listening.line()
  assert.match(line, /transaction:42/)
  assert.ok(line.includes(eventId) && line.includes('"transactionId":42'))
})

test('listen with wrong credentials ends and says what the gateway said', async () => {
  const { code, stderr } = await run([
    'listen',
    '--url',
    house.baseUrl,
    '--client-id',
    'nobody',
    '--client-secret-file',
    secretFile('x'),
  ])
  assert.equal(code, 2)
  assert.match(stderr, /credentials are missing or wrong/)
})

/** A gateway that says exactly what a test wants, in pieces of its choice. */
async function openFakeGateway() {
  const streams: { query: string; response: ServerResponse }[] = []
  let opened: (() => void) | undefined
  const server = createServer((request, response) => {
    if (request.headers.accept !== 'text/event-stream') {
      response.setHeader('content-type', 'application/json').end('{"events":[],"newest":0}')
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': connected\n\n')
    streams.push({ query: new URL(request.url!, 'http://x').search, response })
    opened?.()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stream(place: number) {
      while (streams.length <= place) await new Promise<void>((done) => (opened = done))
      return streams[place]!
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function printBlock(sequence: number, body: string): Buffer {
  const event = {
    sequence,
    eventId: `evt_${sequence}`,
    kind: 'TRANSACTION',
    action: 'SUBMITTED',
    entity: 'x:1',
    body,
  }
  return Buffer.from(`id: ${sequence}\nevent: TRANSACTION\ndata: ${JSON.stringify(event)}\n\n`)
}

test('an event whose bytes arrive in two pieces, in the middle of a character, is forwarded unharmed', async (t) => {
  const fake = await openFakeGateway()
  t.after(() => fake.close())
  const sink = await openSink(t)
  await listen(t, [
    ...['--url', fake.url, '--client-id', 'x', '--client-secret-file', secretFile('secret')],
    '--forward-to',
    sink.url('/hooks'),
  ])
  const { response } = await fake.stream(0)
  const body = '{"clearingAccount":"Zürich"}'
  const [whole, split] = [printBlock(1, '{}'), printBlock(2, body)]
  const middle = split.indexOf(Buffer.from('ü')) + 1
  response.write(Buffer.concat([whole, split.subarray(0, middle)]))
  // Once the first event is forwarded, the first half of the second has been read.
  await sink.wait(1)
  response.write(split.subarray(middle))
  const [, second] = await sink.wait(2)
  assert.equal(second!.body, body)
  assert.ok(isSigned(second!, 'secret'))
})

test('when the connection ends, listen connects again after the last event it has', async (t) => {
  const fake = await openFakeGateway()
  t.after(() => fake.close())
  const sink = await openSink(t)
  await listen(t, [
    ...['--url', fake.url, '--client-id', 'x', '--client-secret-file', secretFile('secret')],
    '--forward-to',
    sink.url('/hooks'),
  ])
  const first = await fake.stream(0)
  first.response.write(Buffer.concat([printBlock(1, '{}'), printBlock(2, '{}')]))
  await sink.wait(2)
  first.response.destroy()
  const second = await fake.stream(1)
  assert.equal(second.query, '?after=2')
  second.response.write(printBlock(3, '{}'))
  assert.equal((await sink.wait(3))[2]!.headers['webhook-id'], 'evt_3')
})

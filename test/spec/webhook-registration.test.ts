import assert from 'node:assert/strict'
import { test } from 'node:test'
import { second } from '../../src/clock.ts'
import { webhooksPerBranch } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import {
  type BranchProgram,
  type FiredEvent,
  faultsOf,
  openBranch,
  type ProblemAnswer,
  transaction,
} from '../support/branch.ts'
import { untilDisabled } from '../support/disabled.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { answer as answerWith, openReceiver } from '../support/receiver.ts'

interface WebhookBody {
  readonly id: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly url: string
  readonly kinds: string[]
  readonly state: string
}
interface Page {
  readonly webhooks: WebhookBody[]
  readonly next: string | null
}

const hooks = 'https://app.example.com/hooks'

/** Nothing in this house dials: it has no worker. */
const house = await openHouse({ ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'false' })
/** This one delivers to receivers on loopback. */
const sending = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const receiver = await keepOpen(openReceiver())
const branch = await openBranch(house)

async function listAll(
  program: BranchProgram,
  limit?: number,
): Promise<{ pages: number; webhooks: WebhookBody[] }> {
  const webhooks: WebhookBody[] = []
  let cursor: string | null | undefined
  for (let pages = 1; ; pages++) {
    const query = new URLSearchParams({ ...(cursor && { cursor }), ...(limit && { limit: String(limit) }) })
    const answer = await program.call('GET', `/v2/webhooks?${query}`)
    assert.equal(answer.status, 200)
    const page = answer.json<Page>()
    assert.ok(page.webhooks.length <= (limit ?? 50))
    webhooks.push(...page.webhooks)
    cursor = page.next
    if (cursor === null) return { pages, webhooks }
  }
}

test('a webhook is created with 201, its four fields, and a Location that leads to it', async () => {
  const now = house.clock.now().getTime()
  const answer = await branch.call('POST', '/v2/webhooks', { url: hooks })
  assert.equal(answer.status, 201)
  const body = answer.json<WebhookBody>()
  assert.deepEqual(body, { id: body.id, createdAt: now, updatedAt: now, url: hooks })
  assert.equal(answer.location, `${house.baseUrl}/v2/webhooks/${body.id}`)
  const fetched = await branch.call('GET', new URL(answer.location!).pathname)
  assert.deepEqual(fetched.json(), body)
})

test('a new webhook is active and gets every kind but AUTHORIZATION, or the kinds it asks for', async () => {
  const program = await openBranch(house)
  await program.register(hooks)
  await program.register(hooks, { kinds: ['AUTHORIZATION', 'TRANSACTION'] })
  const { webhooks } = await listAll(program)
  assert.deepEqual(
    webhooks.map(({ kinds, state }) => [kinds, state]),
    [
      [['TRANSACTION', 'APPLICATION', 'ACH_PROFILE'], 'active'],
      [['AUTHORIZATION', 'TRANSACTION'], 'active'],
    ],
  )
})

test('bad drafts are refused with all their faults at once', async () => {
  const cases: [body: unknown, fields: string[]][] = [
    [{}, ['url']],
    [{ url: null }, ['url']],
    [{ url: [hooks] }, ['url']],
    [{ url: hooks, kinds: [] }, ['kinds']],
    [{ url: hooks, kinds: ['transaction'] }, ['kinds.0']],
    [{ url: hooks, kinds: ['TRANSACTION', 'TRANSACTION'] }, ['kinds']],
    [{ url: hooks, kinds: 'TRANSACTION' }, ['kinds']],
    [{ url: hooks, kinds: null }, ['kinds']],
    [{ url: hooks, secret: '' }, ['secret']],
    [{ url: hooks, secret: 'short' }, ['secret']],
    [{ url: hooks, secret: 'x'.repeat(201) }, ['secret']],
    [{ url: hooks, secret: null }, ['secret']],
    [{ url: hooks, id: 5 }, ['id']],
    [{ url: 5, kinds: ['x'], colour: 'red' }, ['colour', 'kinds.0', 'url']],
    [{ url: 'nonsense', secret: 'short' }, ['secret', 'url']],
  ]
  const before = (await listAll(branch)).webhooks.length
  for (const [body, fields] of cases) {
    const answer = await branch.call('POST', '/v2/webhooks', body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.deepEqual(Object.keys(faultsOf(answer)).sort(), fields, answer.text)
  }
  assert.equal((await listAll(branch)).webhooks.length, before)
})

test('bad URLs are refused, when a webhook is created and when it is changed', async () => {
  const id = await branch.register(hooks)
  const urls = [
    '',
    ' ',
    'app.example.com/hooks',
    '/hooks',
    '//app.example.com/hooks',
    'ftp://app.example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:application/json,{}',
    'ws://app.example.com/',
    'http://app.example.com/hooks',
    'https://',
    'https:///hooks',
    'https://app.example.com:99999/',
    'https://app.example.com:22/',
    'https://user:secret@app.example.com/',
    'https://user@app.example.com/',
    'https://app.example.com/#part',
    'https://app.example.com/#',
    'https://app.example.com/a b',
    'https://app.example.com/\n',
    '\thttps://app.example.com/',
    'https://exämple.com/',
    'https://app.example.com/\0',
    `https://app.example.com/${'x'.repeat(2_000)}`,
  ]
  for (const url of urls) {
    for (const [method, path] of [
      ['POST', '/v2/webhooks'],
      ['PUT', `/v2/webhooks/${id}`],
      ['PATCH', `/v2/webhooks/${id}`],
    ] as const) {
      const answer = await branch.call(method, path, { url })
      assert.equal(answer.status, 400, `${method} ${JSON.stringify(url)}: ${answer.text}`)
      assert.deepEqual(Object.keys(faultsOf(answer)), ['url'])
      assert.match(faultsOf(answer).url!, /^must /)
    }
  }
  assert.equal((await branch.call('GET', `/v2/webhooks/${id}`)).json<WebhookBody>().url, hooks)
})

test('good URLs are kept to the letter', async () => {
  const program = await openBranch(house)
  const urls = [
    'https://app.example.com',
    'https://APP.example.com/Hooks?x=%2F&y=a+b',
    'https://app.example.com:8443/hooks',
    'https://app.example.com:443/',
    'https://xn--exmple-cua.com/',
    'https://8.8.8.8/hooks',
    'https://[2606:4700:4700::1111]/hooks',
    'https://app.example.com/a/../b/./c//d',
  ]
  for (const url of urls) {
    const id = await program.register(url)
    assert.equal((await program.call('GET', `/v2/webhooks/${id}`)).json<WebhookBody>().url, url)
  }
})

test('the list comes in cursor pages, each webhook once, in the order of creation', async () => {
  const program = await openBranch(house)
  const ids: number[] = []
  for (let count = 0; count < 7; count++) ids.push(await program.register(`${hooks}/${count}`))
  for (const limit of [1, 2, 3, 7, 100, undefined]) {
    const { webhooks } = await listAll(program, limit)
    assert.deepEqual(
      webhooks.map(({ id }) => id),
      ids,
    )
  }
  const first = (await program.call('GET', '/v2/webhooks?limit=3')).json<Page>()
  await program.call('DELETE', `/v2/webhooks/${ids[2]}`)
  await program.call('DELETE', `/v2/webhooks/${ids[3]}`)
  const added = await program.register(`${hooks}/late`)
  const rest = (await program.call('GET', `/v2/webhooks?limit=100&cursor=${first.next}`)).json<Page>()
  assert.deepEqual(
    rest.webhooks.map(({ id }) => id),
    [...ids.slice(4), added],
  )
})

test('a cursor or a limit that cannot be is 400', async () => {
  const queries = [
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=ten',
    'limit=',
    'limit=1&limit=2',
    'cursor=nonsense',
    'cursor=',
    'cursor=%00',
    'cursor=MQ&cursor=Mg',
  ]
  for (const query of queries) {
    const answer = await branch.call('GET', `/v2/webhooks?${query}`)
    assert.equal(answer.status, 400, `${query}: ${answer.text}`)
    assert.match(answer.json<ProblemAnswer>().fields?.[0]?.field ?? '', /^(limit|cursor)$/)
  }
})

for (const method of ['PUT', 'PATCH'] as const) {
  test(`${method} changes the URL and the kinds, moves updatedAt, and leaves the rest`, async () => {
    const program = await openBranch(house)
    const id = await program.register(hooks, { kinds: ['TRANSACTION'] })
    const before = (await listAll(program)).webhooks[0]!
    house.clock.advance(second)
    const answer = await program.call(method, `/v2/webhooks/${id}`, {
      url: `${hooks}/2`,
      kinds: ['ACH_PROFILE'],
    })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.json(), {
      id,
      createdAt: before.createdAt,
      updatedAt: before.createdAt + second,
      url: `${hooks}/2`,
    })
    const changed = (await listAll(program)).webhooks[0]!
    assert.deepEqual(
      [changed.kinds, changed.state, changed.updatedAt],
      [['ACH_PROFILE'], 'active', before.createdAt + second],
    )
    for (const body of [{}, { state: 'paused' }, { id: 1 }, { kinds: [] }, { kinds: ['NONE'] }, []])
      assert.equal((await program.call(method, `/v2/webhooks/${id}`, body)).status, 400, JSON.stringify(body))
    assert.deepEqual((await listAll(program)).webhooks[0], changed)
  })
}

test('a deleted webhook is gone for every endpoint, and a second deletion is 404', async () => {
  const program = await openBranch(house)
  const id = await program.register(hooks)
  const answer = await program.call('DELETE', `/v2/webhooks/${id}`)
  assert.equal(answer.status, 204)
  assert.equal(answer.text, '')
  assert.deepEqual((await listAll(program)).webhooks, [])
  const calls: Parameters<BranchProgram['call']>[] = [
    ['GET', `/v2/webhooks/${id}`],
    ['PUT', `/v2/webhooks/${id}`, { url: hooks }],
    ['PATCH', `/v2/webhooks/${id}`, { url: hooks }],
    ['DELETE', `/v2/webhooks/${id}`],
    ['POST', `/v2/webhooks/${id}/pause`],
    ['POST', `/v2/webhooks/${id}/resume`],
    ['POST', `/v2/webhooks/${id}/secret`, { secret: 'a new secret' }],
    ['GET', `/v2/webhooks/${id}/deliveries`],
    ['POST', `/v2/webhooks/${id}/replays`, { failed: true }],
  ]
  for (const call of calls) assert.equal((await program.call(...call)).status, 404, call.join(' '))
})

test('deletions, changes and pauses of one webhook at the same moment never fail inside', async () => {
  const program = await openBranch(house)
  for (let round = 0; round < 10; round++) {
    const id = await program.register(hooks)
    const answers = await Promise.all([
      program.call('DELETE', `/v2/webhooks/${id}`),
      program.call('POST', `/v2/webhooks/${id}/pause`),
      program.call('POST', `/v2/webhooks/${id}/resume`),
      program.call('PATCH', `/v2/webhooks/${id}`, { url: `${hooks}/other` }),
      program.call('POST', `/v2/webhooks/${id}/secret`, { secret: 'a new secret' }),
      program.call('DELETE', `/v2/webhooks/${id}`),
    ])
    for (const { status, text } of answers) assert.ok([200, 204, 404].includes(status), text)
    assert.equal((await program.call('GET', `/v2/webhooks/${id}`)).status, 404)
  }
})

test('a paused webhook gathers its deliveries and sends them in order when it is resumed', async () => {
  const program = await openBranch(sending)
  const id = await program.register(receiver.url('/hooks'))
  const paused = await program.call('POST', `/v2/webhooks/${id}/pause`)
  assert.equal(paused.status, 200)
  assert.equal(paused.json<WebhookBody>().state, 'paused')
  const gathered: string[] = []
  for (let count = 0; count < 3; count++) {
    const answer = await program.call('POST', '/v2/webhooks/transaction', transaction({ transactionId: 5 }))
    gathered.push(answer.json<FiredEvent>().eventId)
  }
  assert.equal(receiver.received.length, 0)
  const resumed = await program.call('POST', `/v2/webhooks/${id}/resume`)
  assert.equal(resumed.json<WebhookBody>().state, 'active')
  const received = await receiver.wait(3)
  assert.deepEqual(
    received.map(({ headers }) => headers['webhook-id']),
    gathered,
  )
})

test('pausing twice and resuming twice change nothing more', async () => {
  const id = await branch.register(hooks)
  for (const [path, state] of [
    ['pause', 'paused'],
    ['pause', 'paused'],
    ['resume', 'active'],
    ['resume', 'active'],
  ]) {
    const answer = await branch.call('POST', `/v2/webhooks/${id}/${path}`)
    assert.equal(answer.status, 200)
    assert.equal(answer.json<WebhookBody>().state, state)
  }
})

test('a 410 disables the webhook with a reason, and resuming enables it again', async () => {
  receiver.on('/gone', answerWith(410))
  const program = await openBranch(sending)
  const id = await program.register(receiver.url('/gone'))
  await program.fire()
  await untilDisabled(sending.gateway.context.db, id)
  const [disabled] = (await listAll(program)).webhooks as (WebhookBody & { disabledReason?: string })[]
  assert.equal(disabled!.state, 'disabled')
  assert.match(disabled!.disabledReason ?? '', /410/)
  const resumed = (await program.call('POST', `/v2/webhooks/${id}/resume`)).json<
    WebhookBody & { disabledReason?: string }
  >()
  assert.equal(resumed.state, 'active')
  assert.equal(resumed.disabledReason, undefined)
})

test('a branch has at most 100 webhooks in an environment, also when creations race at the limit', async () => {
  const program = await openBranch(house)
  const first = await program.register(hooks)
  await ask(
    house.gateway.context.db,
    `INSERT INTO webhooks (branch_id, environment, client_id, url, kinds, created_at, updated_at)
       SELECT branch_id, environment, client_id, url, kinds, created_at, updated_at
         FROM webhooks, generate_series(1, $2)
       WHERE id = $1`,
    [first, webhooksPerBranch - 6],
  )
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => program.call('POST', '/v2/webhooks', { url: hooks })),
  )
  const created = answers.filter(({ status }) => status === 201)
  const refused = answers.filter(({ status }) => status === 409)
  assert.deepEqual([created.length, refused.length], [5, 15])
  assert.match(refused[0]!.json<ProblemAnswer>().error_description, /100/)
  assert.equal((await listAll(program)).webhooks.length, webhooksPerBranch)
  await program.call('DELETE', `/v2/webhooks/${first}`)
  assert.equal((await program.call('POST', '/v2/webhooks', { url: hooks })).status, 201)
  assert.equal((await program.call('POST', '/v2/webhooks', { url: hooks })).status, 409)
  const other = await openBranch(house)
  assert.equal((await other.call('POST', '/v2/webhooks', { url: hooks })).status, 201)
})

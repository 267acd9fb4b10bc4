import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute, second } from '../../src/clock.ts'
import { getPartner } from '../../src/partners/partner.ts'
import {
  achProfile,
  application,
  type BranchProgram,
  type FiredEvent,
  openBranch,
  type ProblemAnswer,
  transaction,
} from '../support/branch.ts'
import { eventually } from '../support/eventually.ts'
import { exhaust } from '../support/exhaust.ts'
import { openHouse } from '../support/gateway.ts'
import { answer as answerWith, openReceiver } from '../support/receiver.ts'

interface Delivery {
  readonly id: string
  readonly webhookId: number
  readonly eventId: string
  readonly kind: string
  readonly action: string
  readonly entity: string
  readonly state: string
  readonly attempts: number
  readonly createdAt: number
  readonly nextAttemptAt?: number
  readonly settledAt?: number
  readonly repeats?: string
}
interface FullDelivery extends Delivery {
  readonly body: string
  readonly log: readonly {
    readonly number: number
    readonly outcome: string
    readonly status?: number
    readonly why?: string
    readonly detail?: string
  }[]
}
interface Page {
  readonly deliveries: Delivery[]
  readonly next: string | null
}
interface Replay {
  readonly id: number
  readonly webhookId: number
  readonly state: string
  readonly total: number
  readonly done: number
  readonly createdAt: number
  readonly finishedAt?: number
}

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })

/** A branch with one webhook at a receiver of its own. */
async function openLane(t: { after(close: () => Promise<void>): void }) {
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  const program = await openBranch(house)
  return { receiver, program, webhookId: await program.register(receiver.url('/hooks')) }
}

async function list(
  program: BranchProgram,
  webhookId: number,
  query: Record<string, string> = {},
): Promise<Delivery[]> {
  const answer = await program.call(
    'GET',
    `/v2/webhooks/${webhookId}/deliveries?${new URLSearchParams(query)}`,
  )
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Page>().deliveries
}

async function fetchOne(program: BranchProgram, id: string): Promise<FullDelivery> {
  const answer = await program.call('GET', `/v2/deliveries/${id}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<FullDelivery>()
}

/** Asks again until the answer is as it should be. */
function until<Value>(ask: () => Promise<Value>, isSo: (value: Value) => boolean): Promise<Value> {
  return eventually(`an answer of which this is so: ${isSo}`, async () => {
    const value = await ask()
    return isSo(value) ? value : undefined
  })
}

test('a delivery tells its event, its state, its payload to the byte, and every attempt', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  receiver.otherwise = answerWith(500)
  const now = house.clock.now().getTime()
  const { eventId, deliveries } = await program.fire(transaction({ transactionId: 42, action: 'APPROVED' }))
  const id = deliveries[0]!.id
  const failed = await fetchOne(program, id)
  assert.deepEqual(Object.keys(failed).sort(), [
    ...['action', 'attempts', 'body', 'createdAt', 'entity', 'eventId', 'id', 'kind'],
    ...['log', 'nextAttemptAt', 'state', 'webhookId'],
  ])
  assert.deepEqual(
    [failed.id, failed.webhookId, failed.eventId, failed.kind, failed.action, failed.entity, failed.state],
    [id, webhookId, eventId, 'TRANSACTION', 'APPROVED', 'transaction:42:test', 'waiting'],
  )
  assert.equal(failed.createdAt, now)
  assert.ok(failed.nextAttemptAt! >= now + 4.5 * second && failed.nextAttemptAt! <= now + 5.5 * second)
  assert.equal(failed.body, receiver.received[0]!.body)
  receiver.otherwise = answerWith(204)
  house.clock.advance(6 * second)
  await receiver.wait(2)
  const done = await until(
    () => fetchOne(program, id),
    ({ state }) => state === 'delivered',
  )
  assert.equal(done.attempts, 2)
  assert.equal(done.nextAttemptAt, undefined)
  assert.ok(done.settledAt! >= now + 6 * second && done.settledAt! < now + 7 * second)
  assert.deepEqual(
    done.log.map(({ number, outcome, status }) => [number, outcome, status]),
    [
      [1, 'refused', 500],
      [2, 'accepted', 204],
    ],
  )
})

test('the list is filtered by state, kind, entity and time, newest first', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  const fired: FiredEvent[] = []
  const fire = async (payload: Record<string, unknown>) => {
    house.clock.advance(minute)
    fired.push(await program.fire(payload))
  }
  const start = house.clock.now().getTime()
  await fire(transaction({ transactionId: 1 }))
  await fire(application({ applicationId: 1 }))
  await fire(achProfile({ profileId: 1 }))
  receiver.otherwise = answerWith(500)
  await fire(transaction({ transactionId: 2 }))
  const ids = fired.map(({ deliveries }) => deliveries[0]!.id)
  const cases: [query: Record<string, string>, places: number[]][] = [
    [{}, [3, 2, 1, 0]],
    [{ state: 'delivered' }, [2, 1, 0]],
    [{ state: 'waiting' }, [3]],
    [{ state: 'exhausted' }, []],
    [{ state: 'canceled' }, []],
    [{ state: 'blocked' }, []],
    [{ kind: 'TRANSACTION' }, [3, 0]],
    [{ kind: 'ACH_PROFILE' }, [2]],
    [{ kind: 'AUTHORIZATION' }, []],
    [{ entity: 'transaction:1:test' }, [0]],
    [{ entity: 'transaction:1' }, []],
    [{ entity: 'transaction:3:test' }, []],
    [{ entity: "x' OR 1=1 --" }, []],
    [{ from: String(start + 2 * minute) }, [3, 2, 1]],
    [{ to: String(start + 2 * minute) }, [0]],
    [{ from: String(start + 2 * minute), to: String(start + 3 * minute) }, [1]],
    [{ from: '0', to: '999999999999999' }, [3, 2, 1, 0]],
    [{ state: 'delivered', kind: 'TRANSACTION', entity: 'transaction:1:test', from: '0' }, [0]],
  ]
  for (const [query, places] of cases) {
    const found = await list(program, webhookId, query)
    assert.deepEqual(
      found.map(({ id }) => id),
      places.map((place) => ids[place]),
      JSON.stringify(query),
    )
  }
})

test('a filter that cannot be is 400 and names its field', async (t) => {
  const { program, webhookId } = await openLane(t)
  const cases: [query: string, field: string][] = [
    ['state=done', 'state'],
    ['state=', 'state'],
    ['state=waiting&state=blocked', 'state'],
    ['kind=transaction', 'kind'],
    ['from=yesterday', 'from'],
    ['from=-1', 'from'],
    ['to=1.5', 'to'],
    ['from=1e3', 'from'],
    ['from=9999999999999999', 'from'],
    ['from=5&to=5', 'from'],
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['cursor=x', 'cursor'],
    [`entity=${'x'.repeat(101)}`, 'entity'],
    ['entity=%00', 'entity'],
  ]
  for (const [query, field] of cases) {
    const answer = await program.call('GET', `/v2/webhooks/${webhookId}/deliveries?${query}`)
    assert.equal(answer.status, 400, `${query}: ${answer.text}`)
    assert.equal(answer.json<ProblemAnswer>().fields?.[0]?.field, field)
  }
})

test('the list comes in cursor pages that stay right while deliveries arrive', async (t) => {
  const { program, webhookId } = await openLane(t)
  const ids: string[] = []
  for (let count = 0; count < 5; count++) ids.unshift((await program.fire()).deliveries[0]!.id)
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`
    const page: Page = (
      await program.call('GET', `/v2/webhooks/${webhookId}/deliveries?limit=2${query}`)
    ).json<Page>()
    assert.ok(page.deliveries.length <= 2)
    seen.push(...page.deliveries.map(({ id }) => id))
    cursor = page.next
    await program.fire()
  } while (cursor !== null)
  assert.deepEqual(seen, ids)
})

test('a delivery is sent again as a new one of the same event, with the same id and body; the one it repeats stays as it is', async (t) => {
  const { receiver, program } = await openLane(t)
  const { deliveries } = await program.fire(transaction({ transactionId: 7 }))
  const { id } = deliveries[0]!
  const answer = await program.call('POST', `/v2/deliveries/${id}/redeliver`)
  assert.equal(answer.status, 202)
  const repeat = answer.json<Delivery>()
  assert.equal(repeat.id, `${id}-1`)
  assert.equal(repeat.repeats, id)
  const [first, second] = await receiver.wait(2)
  assert.equal(second!.headers['webhook-id'], first!.headers['webhook-id'])
  assert.equal(second!.headers['x-webhook-attempt'], '1')
  assert.ok(second!.bytes.equals(first!.bytes))
  await until(
    () => fetchOne(program, repeat.id),
    ({ state }) => state === 'delivered',
  )
  for (const each of [id, repeat.id]) {
    const { log, eventId, repeats } = await fetchOne(program, each)
    assert.deepEqual(
      log.map(({ number, outcome }) => [number, outcome]),
      [[1, 'accepted']],
    )
    assert.deepEqual([eventId, repeats], [repeat.eventId, each === id ? undefined : id])
  }
})

test('an exhausted delivery is sent again with a whole new schedule', async (t) => {
  const { receiver, program } = await openLane(t)
  receiver.otherwise = answerWith(500)
  const { id } = (await program.fire()).deliveries[0]!
  await exhaust(house.gateway.context.db, id, house.clock.now())
  assert.equal((await fetchOne(program, id)).state, 'exhausted')
  const answer = await program.call('POST', `/v2/deliveries/${id}/redeliver`)
  assert.equal(answer.status, 202)
  await receiver.wait(2)
  const again = await until(
    () => fetchOne(program, answer.json<Delivery>().id),
    ({ attempts }) => attempts === 1,
  )
  assert.equal((await fetchOne(program, id)).state, 'exhausted')
  assert.equal(again.state, 'waiting')
  assert.ok(
    again.nextAttemptAt! <= house.clock.now().getTime() + 5.5 * second,
    'the first wait of the schedule',
  )
})

test('a delivery that waits behind an earlier one of its entity is 409, and goes out after it', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  receiver.otherwise = answerWith(500)
  const first = (await program.fire(transaction({ transactionId: 3, action: 'SUBMITTED' }))).deliveries[0]!
  const behind = await program.call(
    'POST',
    '/v2/webhooks/transaction',
    transaction({ transactionId: 3, action: 'APPROVED' }),
  )
  const { id, state } = behind.json<FiredEvent>().deliveries[0]!
  assert.equal(state, 'blocked')
  assert.deepEqual(
    (await list(program, webhookId, { state: 'blocked' })).map((each) => each.id),
    [id],
  )
  const answer = await program.call('POST', `/v2/deliveries/${id}/redeliver`)
  assert.equal(answer.status, 409)
  assert.equal(answer.json<ProblemAnswer>().error, 'conflict')
  receiver.otherwise = answerWith(204)
  assert.equal(
    (await program.call('POST', `/v2/deliveries/${first.id}/redeliver`)).json<Delivery>().id,
    first.id,
  )
  const received = await receiver.wait(3)
  assert.deepEqual(
    received.map(({ body }) => JSON.parse(body).action),
    ['SUBMITTED', 'SUBMITTED', 'APPROVED'],
  )
})

test('what waits for a webhook is gone when it is deleted', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  receiver.otherwise = answerWith(500)
  const { id } = (await program.fire()).deliveries[0]!
  assert.equal((await program.call('DELETE', `/v2/webhooks/${webhookId}`)).status, 204)
  assert.equal((await program.call('GET', `/v2/deliveries/${id}`)).status, 404)
  assert.equal((await program.call('POST', `/v2/deliveries/${id}/redeliver`)).status, 404)
})

test('a dry run of a replay counts and sends nothing', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  const start = house.clock.now().getTime()
  await program.fire(transaction({ transactionId: 1 }))
  house.clock.advance(minute)
  await program.fire(transaction({ transactionId: 1 }))
  await program.fire(transaction({ transactionId: 2 }))
  receiver.otherwise = answerWith(500)
  const { id } = (await program.fire(transaction({ transactionId: 3 }))).deliveries[0]!
  await exhaust(house.gateway.context.db, id, house.clock.now())
  const count = async (selection: object) => {
    const answer = await program.call('POST', `/v2/webhooks/${webhookId}/replays/dry-run`, selection)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(Object.keys(answer.json()), ['total'])
    return answer.json<{ total: number }>().total
  }
  assert.equal(await count({ entity: 'transaction:1:test' }), 2)
  assert.equal(await count({ failed: true }), 1)
  assert.equal(await count({ from: start, to: start + minute }), 1)
  assert.equal(await count({ from: start + minute }), 3)
  assert.equal(await count({ from: 0, entity: 'transaction:1:test', failed: true }), 0)
  assert.equal(receiver.received.length, 4)
})

test('a replay sends the selection again and shows how far it is', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  for (const transactionId of [1, 2, 3]) await program.fire(transaction({ transactionId }))
  const answer = await program.call('POST', `/v2/webhooks/${webhookId}/replays`, {
    from: 0,
    entity: 'transaction:2:test',
  })
  assert.equal(answer.status, 201)
  const started = answer.json<Replay>()
  assert.equal(answer.location, `${house.baseUrl}/v2/webhooks/${webhookId}/replays/${started.id}`)
  assert.deepEqual(
    [started.webhookId, started.state, started.total, started.done],
    [webhookId, 'running', 1, 0],
  )
  const path = `/v2/webhooks/${webhookId}/replays/${started.id}`
  const ended = await until(
    async () => (await program.call('GET', path)).json<Replay>(),
    ({ state }) => state !== 'running',
  )
  assert.deepEqual([ended.state, ended.total, ended.done], ['finished', 1, 1])
  assert.equal(ended.finishedAt, house.clock.now().getTime())
  const received = await receiver.wait(4)
  assert.equal(JSON.parse(received[3]!.body).transactionId, 2)
  assert.equal(received[3]!.headers['webhook-id'], received[1]!.headers['webhook-id'])
  // It is over, and stays so.
  assert.equal((await program.call('DELETE', path)).json<Replay>().state, 'finished')
})

test('a replay of nothing is finished when it begins', async (t) => {
  const { program, webhookId } = await openLane(t)
  const answer = await program.call('POST', `/v2/webhooks/${webhookId}/replays`, { failed: true })
  assert.equal(answer.status, 201)
  assert.deepEqual([answer.json<Replay>().state, answer.json<Replay>().total], ['finished', 0])
})

test('half a character in the entity of a replay finds nothing and fails nobody', async (t) => {
  const { program, webhookId } = await openLane(t)
  const answer = await program.call('POST', `/v2/webhooks/${webhookId}/replays`, {
    entity: 'transaction:\uD83D',
  })
  assert.equal(answer.status, 201, answer.text)
  assert.equal(answer.json<Replay>().total, 0)
})

test('a replay that is canceled sets nothing more going', async (t) => {
  const { program, webhookId } = await openLane(t)
  await program.fire(transaction({ transactionId: 1 }))
  // A gateway begins with a replay within a second; one that is canceled before that has done nothing.
  const canceled = await until(
    async () => {
      const { id } = (
        await program.call('POST', `/v2/webhooks/${webhookId}/replays`, { from: 0 })
      ).json<Replay>()
      const answer = await program.call('DELETE', `/v2/webhooks/${webhookId}/replays/${id}`)
      assert.equal(answer.status, 200)
      return answer.json<Replay>()
    },
    ({ state }) => state === 'canceled',
  )
  assert.equal(canceled.done, 0)
  assert.equal(canceled.finishedAt, house.clock.now().getTime())
  const path = `/v2/webhooks/${webhookId}/replays/${canceled.id}`
  assert.equal((await program.call('GET', path)).json<Replay>().state, 'canceled')
  // A later replay goes through, so the gateway has been past the canceled one.
  const next = (await program.call('POST', `/v2/webhooks/${webhookId}/replays`, { from: 0 })).json<Replay>()
  await until(
    async () => (await program.call('GET', `/v2/webhooks/${webhookId}/replays/${next.id}`)).json<Replay>(),
    ({ state }) => state === 'finished',
  )
  assert.deepEqual((await program.call('GET', path)).json(), canceled)
})

test('a webhook has ten replays running at most, also when they race for the last place', async (t) => {
  const { program, webhookId } = await openLane(t)
  await program.fire(transaction())
  const start = () => program.call('POST', `/v2/webhooks/${webhookId}/replays`, { from: 0 })
  // Nothing is sent to one that is paused: what was started stays as it is.
  assert.equal((await program.call('POST', `/v2/webhooks/${webhookId}/pause`)).status, 200)
  const answers = await Promise.all(Array.from({ length: 15 }, start))
  const refused = answers.filter((answer) => answer.status === 409)
  assert.deepEqual([answers.filter((answer) => answer.status === 201).length, refused.length], [10, 5])
  assert.match(refused[0]!.text, /10 replays running/)
  assert.equal((await program.call('POST', `/v2/webhooks/${webhookId}/resume`)).status, 200)
  await until(start, (answer) => answer.status !== 409)
})

test('a selection that cannot be is 400', async (t) => {
  const { program, webhookId } = await openLane(t)
  const bodies: unknown[] = [
    {},
    { failed: false },
    { from: 'yesterday' },
    { from: -1 },
    { from: 1.5 },
    { from: 8.64e15 + 1 },
    { to: Number.MAX_SAFE_INTEGER },
    { to: 1e300 },
    { from: 5, to: 5 },
    { from: 6, to: 5 },
    { entity: 5 },
    { entity: 'x'.repeat(101) },
    { entity: '\0' },
    { failed: 'yes' },
    { failed: true, webhookId },
    [],
  ]
  for (const body of bodies) {
    for (const path of ['replays', 'replays/dry-run']) {
      const answer = await program.call('POST', `/v2/webhooks/${webhookId}/${path}`, body)
      assert.equal(answer.status, 400, `${path} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`)
    }
  }
})

test('a dry run has an address of its own: asked for as a field, nothing is started', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  await program.fire()
  for (const [path, body] of [
    ['replays', { from: 0 }],
    ['recover', { since: 0 }],
  ] as const) {
    for (const dryRun of [true, false, null, 'true']) {
      const answer = await program.call('POST', `/v2/webhooks/${webhookId}/${path}`, { ...body, dryRun })
      assert.equal(answer.status, 400, answer.text)
      assert.deepEqual(answer.json<{ fields: object[] }>().fields, [
        { field: 'dryRun', problem: 'is not a field of this request' },
      ])
    }
    const counted = await program.call('POST', `/v2/webhooks/${webhookId}/${path}/dry-run`, body)
    assert.equal(counted.status, 200, counted.text)
  }
  assert.equal(receiver.received.length, 1)
})

type Call = Parameters<BranchProgram['call']>
interface Ids {
  readonly webhook: number
  readonly delivery: string
  readonly replay: number
}

/** Every endpoint that takes an id. */
const endpoints: [title: string, call: (ids: Ids) => Call][] = [
  ['fetch one', ({ webhook }) => ['GET', `/v2/webhooks/${webhook}`]],
  ['replace', ({ webhook }) => ['PUT', `/v2/webhooks/${webhook}`, { url: 'https://evil.example.com/' }]],
  ['change', ({ webhook }) => ['PATCH', `/v2/webhooks/${webhook}`, { secret: 'a secret of mine' }]],
  ['pause', ({ webhook }) => ['POST', `/v2/webhooks/${webhook}/pause`]],
  ['resume', ({ webhook }) => ['POST', `/v2/webhooks/${webhook}/resume`]],
  [
    'rotate the secret',
    ({ webhook }) => ['POST', `/v2/webhooks/${webhook}/secret`, { secret: 'a secret of mine' }],
  ],
  ['list deliveries', ({ webhook }) => ['GET', `/v2/webhooks/${webhook}/deliveries`]],
  ['start a replay', ({ webhook }) => ['POST', `/v2/webhooks/${webhook}/replays`, { from: 0 }]],
  ['count a replay', ({ webhook }) => ['POST', `/v2/webhooks/${webhook}/replays/dry-run`, { from: 0 }]],
  ['recover', ({ webhook }) => ['POST', `/v2/webhooks/${webhook}/recover`, { since: 0 }]],
  ['count a recovery', ({ webhook }) => ['POST', `/v2/webhooks/${webhook}/recover/dry-run`, { since: 0 }]],
  ['fetch a replay', ({ webhook, replay }) => ['GET', `/v2/webhooks/${webhook}/replays/${replay}`]],
  ['cancel a replay', ({ webhook, replay }) => ['DELETE', `/v2/webhooks/${webhook}/replays/${replay}`]],
  ['fetch a delivery', ({ delivery }) => ['GET', `/v2/deliveries/${delivery}`]],
  ['redeliver', ({ delivery }) => ['POST', `/v2/deliveries/${delivery}/redeliver`]],
  ['delete', ({ webhook }) => ['DELETE', `/v2/webhooks/${webhook}`]],
]

test('every endpoint keeps branches and environments apart', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  const { deliveries, eventId } = await program.fire()
  const replay = (
    await program.call('POST', `/v2/webhooks/${webhookId}/replays`, { failed: true })
  ).json<Replay>().id
  const ids = { webhook: webhookId, delivery: deliveries[0]!.id, replay }
  const partner = await getPartner(house.gateway.context.db, String(program.branchId))
  const client = await house.makeClient({ partner, environment: 'sandbox' })
  const sandbox = { environment: 'sandbox' } as const
  const strangers: [title: string, program: BranchProgram][] = [
    ['another branch', await openBranch(house)],
    ['the same branch in the sandbox', await openBranch(house, { ...sandbox, client })],
    ['another branch in the sandbox', await openBranch(house, sandbox)],
  ]
  const state = async () => {
    const answers = await Promise.all([
      program.call('GET', '/v2/webhooks'),
      program.call('GET', `/v2/deliveries/${ids.delivery}`),
      program.call('GET', `/v2/webhooks/${webhookId}/replays/${replay}`),
    ])
    return answers.map(({ text }) => text)
  }
  const before = await state()
  for (const [who, stranger] of strangers) {
    const own = await stranger.register(`${receiver.url('/hooks')}/stranger`)
    for (const [title, call] of endpoints) {
      await t.test(`${who} cannot ${title}`, async () => {
        const answer = await stranger.call(...call(ids))
        assert.equal(answer.status, 404, answer.text)
        const nowhere = await stranger.call(
          ...call({ webhook: 999_999, delivery: '999999-999999', replay: 999_999 }),
        )
        const plain = (text: string) => text.replace(/"request_id":"[^"]*"/, '').replace(/\d+/g, 'N')
        assert.equal(plain(answer.text), plain(nowhere.text))
      })
    }
    const listed = (await stranger.call('GET', '/v2/webhooks')).json<{ webhooks: { id: number }[] }>()
    assert.deepEqual(
      listed.webhooks.map(({ id }) => id),
      [own],
    )
    const log = await stranger.call('GET', '/v2/events')
    assert.ok(!log.text.includes(eventId))
    // Through a webhook of one's own, too, a foreign replay does not exist.
    assert.equal((await stranger.call('GET', `/v2/webhooks/${own}/replays/${replay}`)).status, 404)
    assert.equal((await stranger.call('DELETE', `/v2/webhooks/${own}/replays/${replay}`)).status, 404)
  }
  assert.deepEqual(await state(), before)
  assert.equal(receiver.received.length, 1)
})

test('malformed ids are 400 and absent credentials 401, on every endpoint', async () => {
  const program = await openBranch(house)
  const bad = { webhook: 'x', delivery: 'x', replay: 'x' } as unknown as Ids
  for (const [title, call] of endpoints) {
    assert.equal((await program.call(...call(bad))).status, 400, title)
    const [method, path, body] = call({ webhook: 1, delivery: '1-1', replay: 1 })
    assert.equal((await program.call(method, path, body, { authorization: 'Basic eA==' })).status, 401, title)
  }
})

test('an attempt that failed says what was seen of it: who answered, or the code of the error', async (t) => {
  const { receiver, program, webhookId } = await openLane(t)
  receiver.otherwise = answerWith(403, { server: 'cloudflare', 'content-type': 'text/html' }, '<h1>No</h1>')
  const refused = await program.fire()
  const seen = 'server: cloudflare\ncontent-type: text/html'
  assert.equal((refused.deliveries[0]!.attempt as { detail?: string }).detail, seen)
  const [first] = (await fetchOne(program, refused.deliveries[0]!.id)).log
  assert.deepEqual([first!.status, first!.why, first!.detail], [403, undefined, seen])
  receiver.otherwise = (_request, response) => void response.end()
  const accepted = (await program.fire()).deliveries.find((each) => each.webhookId === webhookId)!
  assert.equal('detail' in (await fetchOne(program, accepted.id)).log[0]!, false)
  await receiver.close()
  const { id } = (await program.fire()).deliveries[0]!
  const [unreachable] = (await fetchOne(program, id)).log
  assert.deepEqual([unreachable!.why, unreachable!.detail], ['connection', 'ECONNREFUSED'])
})

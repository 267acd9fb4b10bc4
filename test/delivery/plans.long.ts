/**
 * One plan whatever the statistics say. Every hot statement is run with its real values on the same full house, planned by statistics
 * taken while it was empty, while nothing waited, and while it was full: it goes by the same indexes and touches as much.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { hour, after as later } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import { readBacklog } from '../../src/webhooks/backlog.ts'
import { findRecentEvent } from '../../src/webhooks/checkable-secrets.ts'
import { openDeletedClearing, openInboxClearing } from '../../src/webhooks/clearing.ts'
import { dayOf, openDays } from '../../src/webhooks/days.ts'
import * as delivery from '../../src/webhooks/delivery.ts'
import { listDeliveries, searchDeliveries } from '../../src/webhooks/delivery-search.ts'
import { listNewestDeliveries } from '../../src/webhooks/delivery-summary.ts'
import { dispatchOnce } from '../../src/webhooks/dispatch.ts'
import { findLogBounds, type NewEvent, printEventId, readLog } from '../../src/webhooks/event.ts'
import { openEventBodies } from '../../src/webhooks/event-bodies.ts'
import { listFailingWebhooks } from '../../src/webhooks/failing-webhooks.ts'
import { readFailures } from '../../src/webhooks/failure.ts'
import { HeldLanes } from '../../src/webhooks/held-lanes.ts'
import { selectPartsWithNews } from '../../src/webhooks/inbox.sql.ts'
import { type DueDelivery, type Lane, openLane } from '../../src/webhooks/lane.ts'
import { getLane } from '../../src/webhooks/lane-health.ts'
import * as lanes from '../../src/webhooks/lanes.sql.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { findProbeOutcome, startProbe } from '../../src/webhooks/probe.ts'
import { openPublisher } from '../../src/webhooks/publisher.ts'
import { pullOnce, startRecovery } from '../../src/webhooks/recovery.ts'
import * as replay from '../../src/webhooks/replay.ts'
import { retireOnce } from '../../src/webhooks/retention.ts'
import { openSettlements } from '../../src/webhooks/settlement.ts'
import { openShortCut } from '../../src/webhooks/short-cut.ts'
import { skipOnce, startSkip } from '../../src/webhooks/skip.ts'
import { deleteWebhook, type Webhook } from '../../src/webhooks/webhook.ts'
import { openAttemptCounter, readCounts } from '../../src/webhooks/webhook-counts.ts'
import { readHealth } from '../../src/webhooks/webhook-health.ts'
import * as workers from '../../src/webhooks/workers.sql.ts'
import { attemptOf } from '../support/attempt-made.ts'
import { eventOf } from '../support/engine.ts'
import { type FullHouse, openFullHouse } from '../support/full-house.ts'
import { operatorAct } from '../support/gateway.ts'
import { type Looks, openLookingDatabase } from '../support/plans.ts'

/** `PLANS_ROWS=1000000` for the length of it. */
const rows = Number(process.env.PLANS_ROWS ?? 60_000)
const batch = 100

let house: FullHouse
const seen = new Map<string, Looks>()
before(async () => {
  house = await openFullHouse()
  await house.fill(rows)
  await lookWith('empty')
  await house.countWhileQuiet()
  await lookWith('quiet')
  await house.sql('ANALYZE')
  await lookWith('full')
  await house.countWhileQuiet()
  await lookWith('quiet after full')
})
after(() => house?.close())

async function lookWith(statistics: string): Promise<void> {
  const looks: Looks = new Map()
  seen.set(statistics, looks)
  const db = await openLookingDatabase(house.db, looks)
  await publishAndDispatch(db)
  await deliver(db)
  await sendAgain(db)
  await lookAround(db)
  await tidy(db)
}

async function publishAndDispatch(db: Database): Promise<void> {
  const { clock, webhooks } = house
  const [first] = webhooks
  const events = Array.from({ length: batch }, (_, n) => eventOf(first!.branchId, { entity: `transaction:${n}` }))
  await openPublisher(db).publish(events, clock.now())
  await openPublisher(db).publish(events, clock.now(), { idempotency: { owner: 'plans', key: randomUUID() } })
  await db.query(selectPartsWithNews)
  const desk = { db, clock, days: openDays(db), traceDispatch: () => {}, told: () => {}, readParts: new Set<number>() }
  // The first may end what an earlier one has begun.
  await dispatchOnce(desk, partOf(first!.branchId), batch)
  assert.equal((await dispatchOnce(desk, partOf(first!.branchId), batch))?.entries, batch)
  while ((await dispatchOnce(desk, partOf(first!.branchId), batch))?.entries === batch);
  await publishAtOnce(db, events.slice(0, 5))
}

/** Nothing waits in the part. */
async function publishAtOnce(db: Database, events: readonly NewEvent[]): Promise<void> {
  const nothing = () => {}
  const { clock } = house
  const days = openDays(db)
  await days.open(dayOf(clock.now()))
  const lanes = new HeldLanes({
    lingerMs: 200,
    db,
    clock,
    number: () => 0,
    lastNumber: () => 0,
    confirmed: nothing,
    complain: nothing,
  })
  const shortCut = openShortCut({
    ...{ clock, days, lanes, traceDispatch: undefined, isOpen: () => true, number: () => 0, changes: () => 0 },
    ...{ keep: nothing, send: nothing, hurry: nothing, dispatched: nothing, look: nothing },
  })
  await openPublisher(db, { published: nothing, shortCut }).publish(events, clock.now())
  await lanes.close()
}

/** What a worker does with all lanes in hand. */
async function deliver(db: Database): Promise<void> {
  const { clock } = house
  const now = clock.now()
  const claimId = randomUUID()
  const id = randomUUID()
  const [worker] = await db.query<{ number: number }>(workers.registerWorker, [id, now])
  await db.query(workers.reportWorker, [id, now, 0, now, false, new Date(0)])
  await db.query(workers.buryWorkers, [new Date(0), new Date(0)])
  await db.query(workers.freeLanes, [now])
  const claimed = await db.query<Pick<Lane, 'webhookId' | 'branchId' | 'part'>>(lanes.claimLanes, [
    ...[claimId, now, batch, [], worker!.number],
  ])
  assert.ok(claimed.length >= house.webhooks.length)
  const held = claimed.map((row) => openLane({ ...heldFrom(row), claimId, leasedUntilMs: performance.now() + hour }))
  const ids = held.map((lane) => lane.webhookId)
  const from = held.map((lane) => lane.dueFrom)
  const due = await db.query<Omit<DueDelivery, 'event'>>(lanes.selectDue, [ids, ids.map(() => 5), now, [], from])
  await db.query(lanes.selectProbes, [ids, now, from])
  await openEventBodies().find(db, [...new Set(due.map((row) => row.eventId))])
  await db.query(lanes.confirmLanes, [ids, [claimId], worker!.number])
  await settle(db, held, due)
  await db.query(lanes.releaseLanes, [
    ...[ids, ids.map(() => claimId), ids.map(() => 0), ids.map(() => null), ids.map(() => null)],
    ...[ids.map(() => 0), from, now, ids.map(() => null), ids.map(() => null)],
  ])
  await db.query(lanes.undoClaims, [[claimId], now])
}

function heldFrom({ webhookId, branchId, part }: Pick<Lane, 'webhookId' | 'branchId' | 'part'>) {
  // A third of what is settled fails.
  const failing = { failures: 0, failingSince: house.clock.now(), evidence: 0, limitedUntil: undefined }
  return { webhookId, branchId, part, ...failing, dueFrom: new Date(0) }
}

async function settle(db: Database, held: readonly Lane[], due: readonly Omit<DueDelivery, 'event'>[]): Promise<void> {
  const { clock } = house
  const now = clock.now()
  const settlements = openSettlements({ db, clock, days: openDays(db) })
  const accepted = { kind: 'accepted', status: 200, response: '' } as const
  const refused = { kind: 'refused', status: 500, response: '', retryAfter: undefined } as const
  const settled = await Promise.all(
    due.map((row, place) => {
      const lane = held.find((each) => each.webhookId === row.webhookId)!
      const outcome = place % 3 === 0 ? refused : accepted
      const item = { lane, delivery: row as DueDelivery, outcome, at: now, durationMs: 5, now, disable: undefined }
      return settlements.settle(item, true)
    }),
  )
  assert.ok(settled.length > batch && settled.every((each) => each.accepted))
}

const act = () => operatorAct(house.clock.now())

async function sendAgain(db: Database): Promise<void> {
  const { clock, webhooks } = house
  const [webhook] = webhooks as [Webhook]
  const branch = { branchId: webhook.branchId, environment: 'live' } as const
  const desk = { db, clock, days: openDays(db), traceDispatch: undefined, told: () => {}, readParts: new Set<number>() }
  for (const state of ['delivered', 'waiting'] as const) {
    const [newest] = await listDeliveries(house.db, webhook, { state }, Number.MAX_SAFE_INTEGER, 1)
    const found = await delivery.getDelivery(db, branch, newest!.id)
    await delivery.askForRedelivery(db, webhook.branchId, found, act())
    await delivery.redeliverByWorker(db, webhook.branchId, { ...found, state: 'waiting' }, act())
  }
  while ((await dispatchOnce(desk, partOf(webhook.branchId), batch))?.entries === batch);
  for (const failed of [false, true]) {
    const { id } = await replay.startReplay(db, webhooks[1]!, { failed }, act())
    await replay.advanceReplay(db, clock.now())
    await db.transaction((sql) => replay.cancelReplay(sql, webhooks[1]!, id, act()))
  }
  await replay.listReplays(db, webhooks[1]!)
  await recoverAndSkip(db)
}

async function recoverAndSkip(db: Database): Promise<void> {
  const { clock, webhooks, makeWebhook } = house
  const [first, , recovered] = webhooks as [Webhook, Webhook, Webhook]
  const { id } = await startRecovery(db, recovered, later(clock.now(), -hour), act())
  await pullOnce(db, clock, id)
  await db.transaction((sql) => replay.cancelReplay(sql, recovered, id, act()))
  const skipped = await makeWebhook(first.branchId)
  await fillWaiting(skipped)
  await startSkip(db, skipped, 'looked at', act())
  await skipOnce(db, clock)
}

/** Streams, and pages of the portal. */
async function lookAround(db: Database): Promise<void> {
  const { clock, webhooks } = house
  const [webhook] = webhooks as [Webhook]
  const branch = { branchId: webhook.branchId, environment: 'live' } as const
  const { first, last } = await findLogBounds(db, branch)
  assert.ok((await readLog(db, branch, first, batch)).length === batch && last > first)
  const some = webhooks.map((each) => each.id)
  const today = { from: later(clock.now(), -hour), to: clock.now() }
  for (const filter of [{}, { state: 'exhausted' }, { state: 'waiting' }, { kind: 'TRANSACTION' }, today] as const)
    await searchDeliveries(db, some, filter, Number.MAX_SAFE_INTEGER, 50)
  const [newest] = await listNewestDeliveries(db, webhook, 50)
  const found = await delivery.getDelivery(db, branch, newest!.id)
  await delivery.listAttempts(db, found.id)
  await delivery.listDeliveriesOfEvent(db, found.eventId)
  await delivery.findEvent(db, branch, found.eventId)
  await delivery.findAhead(db, [{ id: newest!.id, state: 'blocked' }])
  await lookAtCounts(db, webhook)
  await readHealth(db, webhooks.slice(0, 5))
  await getLane(db, webhook.id, clock.now())
  await lookAtIncident(db, webhook)
  // Its newest delivery is an old event's, sent again.
  const [logged] = await readLog(house.db, branch, last - 1, 1)
  assert.ok(await findRecentEvent(db, branch, printEventId(logged!.uid)), 'the newest event')
}

async function lookAtIncident(db: Database, webhook: Webhook): Promise<void> {
  assert.ok((await readFailures(db, house.webhooks)).size > 0)
  await listFailingWebhooks(db, 50)
  await readBacklog(db, webhook, 20)
  await findProbeOutcome(db, webhook, await startProbe(db, webhook, act()))
}

/** What charts show: counted, and read. */
async function lookAtCounts(db: Database, webhook: Webhook): Promise<void> {
  const { clock } = house
  const counter = openAttemptCounter(db)
  counter.note(attemptOf({ webhookId: webhook.id, at: clock.now() }))
  await counter.flush()
  await readCounts(db, webhook.id, '30days', clock.now())
}

/** A day leaves with every look. */
async function tidy(db: Database): Promise<void> {
  const { clock, webhooks, makeWebhook } = house
  const doomed = await makeWebhook(webhooks[0]!.branchId)
  await fillWaiting(doomed)
  await fillWithOld()
  await deleteWebhook(db, doomed, act())
  const clearing = openDeletedClearing(db, clock)
  while ((await clearing.clearOnce()) > 0);
  await openInboxClearing(db).clearAll()
  const gone = 11 - seen.size
  await retireOnce(db, { attemptDays: gone, eventDays: gone }, clock.now())
}

function fillWaiting(webhook: Webhook): Promise<object[]> {
  return house.sql(
    `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at)
     SELECT d.delivery_offset + nextval('delivery_numbers'), $1, 1, 'transaction:' || n, 0, $2, $2 FROM days d, generate_series(1, 3000) n WHERE d.day = day_of($2)`,
    [webhook.id, house.clock.now()],
  )
}

/** What waits since the day that leaves with this look. */
async function fillWithOld(): Promise<void> {
  const { clock, webhooks, sql } = house
  await sql(
    `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at)
     SELECT d.delivery_offset + nextval('delivery_numbers'), $1, d.event_offset, 'transaction:' || n, 0, $2, $2
     FROM generate_series(1, 1500) n, days d WHERE d.day = day_of($2::timestamptz - $3 * interval '1 day')`,
    [webhooks[3]!.id, clock.now(), 11 - seen.size],
  )
}

/** Who asks so seldom, or of so little, that it may cost what it likes. */
const notHot: Record<string, string> = {
  wake_dispatchers: 'reads nothing',
  wake_others: 'reads nothing',
  wake_workers: 'reads nothing',
  wait_briefly: 'reads nothing',
  wait_at_most: 'reads nothing',
  remove_worker: 'one row a node',
  select_held_lanes: 'every five seconds, a row a webhook at most',
  free_forgotten_lanes: 'when a promise was broken',
  join_behind: 'what waited behind a bite that has expired: as much, or nothing',
  select_old_queued: 'what has expired, by its number: a bite, or nothing',
  settle_old_deliveries: 'as settle_deliveries, for a day that may have left',
  aim_event: 'a person sends a test event to one webhook',
  select_event_aims: 'test events alone, by their numbers',
  add_webhook_depths: 'reads the whole queue, once a minute',
  thin_webhook_counts: 'once a minute, a bite of what is a day old',
  delete_old_webhook_counts: 'once a minute, a bite of what is a month old',
  select_events_there: 'a few events by their numbers, of days that may have left',
  select_running: 'one row, each moment while a replay runs',
  find_broken_lanes: 'once a minute, of a bounded number of rows',
  find_broken_logs: 'once a minute, of a bounded number of rows',
  find_lost_events: 'every event, for tests alone',
  mend_event: 'when a promise was broken',
  mend_chain: 'when a promise was broken',
  mend_sight: 'when a promise was broken',
  mend_cleared: 'when a promise was broken',
  mend_attention: 'when a promise was broken',
  select_running_recovery: 'a person recovers a webhook',
  count_due_later: 'a person recovers a webhook',
  count_given_up: 'a person recovers a webhook',
  select_given_up: 'a page of what a person recovers',
  skip_delivery: 'a person skips a delivery',
  select_skip: 'a person looks at what is skipped',
  select_skips: 'a person looks at what is skipped',
  record_late_attempts: 'attempts that were under way when their delivery was skipped',
  select_secret_switches: 'a person looks at webhooks',
  select_idempotency_key: 'one row by its key, for a request that is repeated',
  select_depths: 'counts the whole queue, for whoever collects metrics',
  select_oldest: 'one row a webhook, for whoever collects metrics',
  select_lanes_by_health: 'every webhook, for a page of the operator',
  count_lane_conditions: 'every webhook, for a page of the operator',
  rewrite_inbox: 'once after a restore from a dump',
  restart_inbox_reads: 'once after a restore from a dump',
  select_queued_of_old_events: 'reads the whole queue, once a day, when a day of events leaves',
  select_wanted_events: 'reads the whole queue, once a day, when a day of events leaves',
  insert_webhook: 'a person changes a webhook',
  count_webhooks: 'a person changes a webhook',
  lock_branch: 'a person changes a webhook',
  select_webhook: 'a person looks at a webhook',
  select_webhooks: 'a person looks at webhooks',
  update_webhook: 'a person changes a webhook',
  select_seen_workers: 'a person looks at workers, of which there are a few',
  update_active_to_disabled: 'a webhook that has failed for days',
  insert_webhook_secret: 'a person changes a secret',
  end_older_webhook_secrets: 'a person changes a secret',
  select_webhook_secrets: 'a row or two of a webhook, which the node then remembers',
  select_client_secrets_of_webhook: 'a row or two of a client, which the node then remembers',
  select_default_client: 'a person registers a webhook',
  select_own_secrets_of_branch: 'a person has a signature explained',
  select_checkable_client_secrets: 'a person has a signature explained',
  select_sealed_webhook_secrets: 'once after a change of keys',
  read_sealed_webhook_secrets: 'once after a change of keys',
  update_sealed_webhook_secret: 'once after a change of keys',
  lock_webhook: 'a person changes a webhook',
  select_event_actions: 'a few events by their numbers, while nodes of two releases run',
  select_webhook_headers: 'a few rows of a webhook, which the node then remembers',
  select_webhook_header_names: 'a person looks at webhooks',
  upsert_webhook_headers: 'a person changes a webhook',
  delete_webhook_headers: 'a person changes a webhook',
  delete_all_webhook_headers: 'a person changes a webhook',
  select_sealed_webhook_headers: 'once after a change of keys',
  read_sealed_webhook_headers: 'once after a change of keys',
  update_sealed_webhook_header: 'once after a change of keys',
  select_built_in_receiver: 'a person looks at the built-in receiver',
  select_verified_at: 'a person looks at the built-in receiver',
  upsert_built_in_receiver: 'a person makes a built-in receiver',
  select_built_in_taker: 'one row by its key, for what the sandbox hands over inside',
  select_built_in_address: 'one row by its key, for what the sandbox hands over inside',
  insert_receipt: 'sixty a minute at most, in the sandbox',
  select_receipts: 'a person looks at the built-in receiver',
  delete_old_receipts: 'twenty rows a partner, once a minute',
  select_event_named_between: 'a person searches: web/search-plan',
  select_event_named_lately: 'a person searches: web/search-plan',
  select_any_delivery: 'a person searches: web/search-plan',
  select_webhooks_addressed: 'a person searches: web/search-plan',
  select_failing_webhooks_of_branches: 'a person looks at their partners: web/search-plan',
  select_signing_secret: 'a person looks at a webhook',
}

const hotNames = () =>
  [...new Set([...seen.values()].flatMap((looks) => [...looks.keys()]))].filter((name) => !notHot[name])

/** By their names in the source: `statement('name', …)`, and those that are made from a name. */
function readStatementNames(): string[] {
  const folder = new URL('../../src/webhooks/', import.meta.url)
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const named = /\b(?:statement|statementOfDay|search)\(\s*'([a-z_]+)'/g
  return files.flatMap((file) =>
    [...readFileSync(new URL(file, folder), 'utf8').matchAll(named)].map(([, name]) => name!),
  )
}

test('every statement of the engine is looked at here, or has a reason not to be', () => {
  const names = readStatementNames()
  assert.ok(names.length > 80)
  const unseen = names.filter((name) => !notHot[name] && ![...seen.values()].some((looks) => looks.has(name)))
  assert.deepEqual(unseen, [])
  assert.deepEqual(
    Object.keys(notHot).filter((name) => !names.includes(name)),
    [],
    'there is no such statement any more',
  )
})

/** Tables that grow with traffic: their indexes begin with these words. */
const large = /^(queued|settled|events|inbox|attempts|branch_log)/

test('a hot statement goes by the same indexes whatever the statistics say, and reads no large table from end to end', () => {
  const problems = hotNames().flatMap((name) => {
    const looks = [...seen].filter(([, each]) => each.has(name))
    const chosen = looks.map(([statistics, each]) => `${statistics}: ${printLarge(each.get(name)!.indexes)}`)
    const whole = looks.map(([, each]) => printLarge(each.get(name)!.readWhole)).join('')
    const isSteady = new Set(chosen.map((each) => each.replace(/^.*: /, ''))).size === 1
    return [...(isSteady ? [] : [[name, ...chosen]]), ...(whole === '' ? [] : [`${name} reads ${whole}`])]
  })
  assert.deepEqual(problems, [])
})

function printLarge(names: ReadonlySet<string>): string {
  return [...names]
    .filter((name) => large.test(name))
    .sort()
    .join(' ')
}

/** Between two looks the house has changed a little. */
const factor = 3
const slack = { pages: 1_000, rows: 2_000 }
/** Less than the queue has. */
const atMost = { pages: 15_000, rows: 40_000 }

test('a hot statement costs the same whatever the statistics say, and no more than what it asks for', () => {
  const problems = hotNames().flatMap((name) => {
    const looks = [...seen.values()].flatMap((each) => each.get(name) ?? [])
    return (['pages', 'rows'] as const).flatMap((unit) => {
      const counts = looks.map((look) => Math.round(look[unit]))
      const limit = Math.min(atMost[unit], factor * Math.min(...counts) + slack[unit])
      return Math.max(...counts) <= limit ? [] : [`${name}: ${counts.join(', ')} ${unit}`]
    })
  })
  assert.deepEqual(problems, [])
})

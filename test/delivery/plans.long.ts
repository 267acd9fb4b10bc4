/**
 * One plan whatever the statistics say. Every hot statement is run with its real values on the same full
 * house, planned by statistics taken while it was empty, while nothing waited, and while it was full: it goes
 * by the same indexes and touches as much.
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { hour, after as later } from '../../src/clock.ts'
import type { Database } from '../../src/database/database.ts'
import * as delivery from '../../src/webhooks/deliveries/delivery.ts'
import { listDeliveries, searchDeliveries } from '../../src/webhooks/deliveries/delivery-search.ts'
import { listNewestDeliveries } from '../../src/webhooks/deliveries/delivery-summary.ts'
import { findProbeOutcome, startProbe } from '../../src/webhooks/deliveries/probe.ts'
import { startRecovery } from '../../src/webhooks/deliveries/recovery.ts'
import * as replay from '../../src/webhooks/deliveries/replay.ts'
import { retireOnce } from '../../src/webhooks/deliveries/retention.ts'
import { skipDelivery, startSkip } from '../../src/webhooks/deliveries/skip.ts'
import { parseDeliveryId } from '../../src/webhooks/engine/delivery-id.ts'
import * as kernel from '../../src/webhooks/engine/kernel.sql.ts'
import { Lane, type LoadedLane } from '../../src/webhooks/engine/lane.ts'
import { type DeliveryLane, type ReceiverAnswer, Settlements } from '../../src/webhooks/engine/settlements.ts'
import { selectTargets } from '../../src/webhooks/engine/targets.sql.ts'
import * as workers from '../../src/webhooks/engine/workers.sql.ts'
import { findLogBounds, readLog } from '../../src/webhooks/events/branch-log.ts'
import { printEventId } from '../../src/webhooks/events/event.ts'
import { findNewestOfEntity } from '../../src/webhooks/events/event-search.ts'
import { Feed } from '../../src/webhooks/events/feed.ts'
import * as log from '../../src/webhooks/events/log.sql.ts'
import { feedOf, partOf } from '../../src/webhooks/events/part.ts'
import { openPublisher } from '../../src/webhooks/events/publisher.ts'
import { readBacklog } from '../../src/webhooks/health/backlog.ts'
import { listFailingWebhooks } from '../../src/webhooks/health/failing-webhooks.ts'
import { readFailures } from '../../src/webhooks/health/failure.ts'
import { getLane } from '../../src/webhooks/health/lane-health.ts'
import { openAttemptCounter, readCounts } from '../../src/webhooks/health/webhook-counts.ts'
import { readHealth } from '../../src/webhooks/health/webhook-health.ts'
import { findRecentEvent } from '../../src/webhooks/signature-debugger/checkable-secrets.ts'
import { deleteWebhook, type Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { attemptOf } from '../support/attempt-record.ts'
import { eventOf } from '../support/engine.ts'
import { type FullHouse, openFullHouse } from '../support/full-house.ts'
import { operatorAct } from '../support/gateway.ts'
import { type Looks, openLookingDatabase } from '../support/plans.ts'
import { listStatements } from '../support/statements.ts'

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
  await publishAndNumber(db)
  await deliver(db)
  await sendAgain(db)
  await lookAround(db)
  await tidy(db)
}

const partsToLook = `SELECT ${log.partsToLook}`
const partsToTake = `SELECT ${kernel.partsToTake.replace('round.now', '$1')}`

async function publishAndNumber(db: Database): Promise<void> {
  const { clock, webhooks } = house
  const [first] = webhooks
  const now = clock.now()
  const events = Array.from({ length: batch }, (_, n) =>
    eventOf(first!.branchId, { entity: `transaction:${n}` }),
  )
  const numbering = { published: () => {}, numbered: () => {}, isLocal: true }
  await openPublisher(db).publish(events, now)
  await openPublisher(db).publish(events, now, { idempotency: { owner: 'plans', key: randomUUID() } })
  await openPublisher(db, numbering).publish(events.slice(0, 5), now)
  await ask(db, partsToLook)
  const entries = await db.query(log.look, { part: partOf(first!.branchId), now, most: batch })
  assert.equal(entries.length, batch)
}

const accepted = { kind: 'accepted', status: 200, response: 'ok' } as const
const refused = { kind: 'refused', status: 500, response: 'no', retryAfter: undefined } as const

/** What a worker does with its lanes, one act after the other. */
async function deliver(db: Database): Promise<void> {
  const { clock, webhooks } = house
  const now = clock.now()
  const id = randomUUID()
  const { number } = await db.one(workers.giveNumber)
  await db.query(workers.registerWorker, { id, number, now })
  const never = new Date(0)
  await db.query(workers.reportWorker, {
    id,
    now,
    lanes: 0,
    absentSince: now,
    follows: false,
    silentSince: never,
  })
  await db.query(workers.evictWorkers, { missingSince: never, silentSince: never, now: never })
  await db.query(workers.selectNumbers)
  const [webhook] = webhooks as [Webhook]
  const part = partOf(webhook.branchId)
  await db.query(kernel.selectHolders, { part })
  await db.query(kernel.freeLanes, { part, workers: [-1] })
  await db.query(kernel.keepLanes, { part, former: -1, worker: number })
  await ask(db, partsToTake, [now])
  const taken = await db.query(kernel.take, { part, worker: number, now, most: batch, exceptIds: [] })
  assert.ok(taken.some((row) => row.webhookId === webhook.id))
  const own = webhooks.filter((each) => partOf(each.branchId) === part)
  await db.query(kernel.selectHeld, { part, holders: [number] })
  await db.query(kernel.takeForgotten, { part, holders: [number], webhookIds: own.map((each) => each.id) })
  for (const each of own) await serve(db, each)
  const ids = taken.map((row) => row.webhookId)
  const cursors = await db.query(kernel.loadCursors, { part, webhookIds: ids })
  const lanes = {
    part,
    webhookIds: cursors.map((row) => row.webhookId),
    epochs: cursors.map(({ epoch }) => epoch),
  }
  const positions = cursors.map(({ position }) => position)
  await db.query(kernel.rest, { ...lanes, now, positions, wakes: cursors.map(() => 'infinity' as const) })
  await db.query(kernel.giveBack, lanes)
  await db.query(workers.removeWorker, { id })
}

/** A lane in somebody's hands: loaded, read, sent from, settled. A third of it fails. */
async function serve(db: Database, webhook: Webhook): Promise<void> {
  const now = house.clock.now()
  const feed = new Feed(db, feedOf({ branchId: webhook.branchId, environment: 'live' }))
  const lane: DeliveryLane = new Lane<ReceiverAnswer>(webhook.id, feed)
  lane.load(await load(db, webhook))
  await db.query(selectTargets, { webhookIds: [webhook.id] })
  const [row] = await db.query(log.selectHeads, { part: feed.part, feeds: [feed.id] })
  feed.append(row!.head)
  for (let after = lane.scan(); after !== undefined; after = lane.scan()) await feed.read(after)
  const settlements = new Settlements({ db, clock: house.clock })
  let sent = 0
  for (let sending = lane.next(now); sending; sending = lane.next(now)) {
    if (!sending.entry)
      await db.query(kernel.readEntries, {
        part: feed.part,
        feed: feed.id,
        seqs: [sending.seq],
        days: [sending.day],
      })
    const isAccepted = sent++ % 3 !== 0
    const verdict = isAccepted
      ? ({ state: 'delivered', dueAt: undefined } as const)
      : ({ state: 'retrying', dueAt: later(now, hour) } as const)
    const outcome = isAccepted ? accepted : refused
    lane.answer(sending, verdict, { outcome, at: now, durationMs: 5 }, now)
  }
  assert.ok(sent > 0)
  settlements.note(lane)
  settlements.close()
  for await (const { refused, error } of settlements.run())
    assert.deepEqual([refused, error], [[], undefined])
}

async function load(db: Database, { id, branchId }: Webhook): Promise<LoadedLane> {
  const values = { part: partOf(branchId), webhookIds: [id] }
  const [cursor] = await db.query(kernel.loadCursors, values)
  const [running] = await db.query(kernel.loadReplays, values)
  const replayed = await db.query(kernel.loadReplayed, values)
  await db.query(kernel.loadHeads, values)
  await db.query(kernel.loadBegun, { ...values, since: house.clock.now() })
  return {
    cursor: cursor!,
    filters: await db.query(kernel.loadFilters, values),
    exceptions: await db.query(kernel.loadExceptions, values),
    agains: await db.query(kernel.loadAgains, values),
    ahead: (await db.query(kernel.loadAhead, values)).map(({ seq }) => seq),
    replay: running && { ...running, ahead: replayed.map(({ seq }) => seq) },
  }
}

const act = () => operatorAct(house.clock.now())

async function sendAgain(db: Database): Promise<void> {
  const { webhooks } = house
  const [webhook, second] = webhooks as [Webhook, Webhook]
  for (const [state, of] of [
    ['delivered', webhook],
    ['exhausted', webhook],
    ['waiting', second],
  ] as const) {
    const { deliveries } = await listDeliveries(house.db, of, { state }, undefined, 1)
    const found = await delivery.getDelivery(db, of, deliveries[0]!.id)
    await delivery.redeliver(db, of.branchId, found, act())
  }
  for (const selection of [{ failed: false }, { failed: true }, { entity: 'transaction:7' }]) {
    const { id } = await replay.startReplay(db, second, selection, act())
    await load(db, second)
    const { first } = await findLogBounds(house.db, second)
    await db.query(kernel.readReplay, {
      part: partOf(second.branchId),
      webhookId: second.id,
      round: id,
      after: first,
      most: 50,
    })
    await db.transaction((sql) => replay.cancelReplay(sql, second, id, act()))
  }
  await replay.listReplays(db, second)
  await recoverAndSkip(db)
}

async function recoverAndSkip(db: Database): Promise<void> {
  const { clock, webhooks } = house
  const recovered = webhooks[5]!
  const { id } = await startRecovery(db, recovered, later(clock.now(), -hour), act())
  await db.transaction((sql) => replay.cancelReplay(sql, recovered, id, act()))
  const { deliveries } = await listDeliveries(house.db, recovered, { state: 'waiting' }, undefined, 50)
  const failing = deliveries.find(({ id }) => parseDeliveryId(id)!.seq % 5 === 0)
  await skipDelivery(db, recovered.branchId, failing!, 'looked at', act())
  // Each time another: what was skipped is gone.
  await startSkip(db, webhooks[10 + seen.size]!, 'looked at', act())
}

/** Streams, and pages of the portal. */
async function lookAround(db: Database): Promise<void> {
  const { clock, webhooks } = house
  const [, webhook] = webhooks as [Webhook, Webhook]
  const { first, last } = await findLogBounds(db, webhook)
  assert.ok((await readLog(db, webhook, first, batch)).length === batch && last > first)
  const some = webhooks.filter(({ branchId }) => branchId === webhook.branchId)
  const today = { from: later(clock.now(), -hour), to: clock.now() }
  const one = { entity: 'transaction:7' }
  for (const filter of [
    {},
    { state: 'exhausted' },
    { state: 'waiting' },
    { kind: 'TRANSACTION' },
    today,
    one,
  ] as const)
    await searchDeliveries(db, some, filter, undefined, 50)
  const [newest] = await listNewestDeliveries(db, webhook, 50)
  const found = await delivery.getDelivery(db, webhook, newest!.id)
  await delivery.listAttempts(db, webhook, found)
  await delivery.findLastAttempts(db, webhook, [{ ...found, attempts: 1 }])
  await delivery.listDeliveriesOfEvent(db, webhook, found.uid)
  await delivery.findAhead(db, webhook, [{ ...found, state: 'blocked' }])
  await lookAtCounts(db, webhook)
  await readHealth(db, webhooks.slice(0, 5), clock.now())
  await getLane(db, webhook.id, clock.now())
  await lookAtIncident(db, webhook)
  const [logged] = await readLog(house.db, webhook, last - 1, 1)
  assert.ok(await findRecentEvent(db, webhook, printEventId(logged!.uid)), 'the newest event')
  assert.ok((await findNewestOfEntity(db, one.entity, 5)).length > 0, 'whoever has the entity')
}

async function lookAtIncident(db: Database, webhook: Webhook): Promise<void> {
  assert.ok((await readFailures(db, house.webhooks.slice(0, 12))).size > 0)
  await listFailingWebhooks(db, house.clock.now(), 12)
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
  const { clock, webhooks } = house
  await deleteWebhook(db, webhooks.at(-seen.size)!, act())
  const gone = 6 - seen.size
  await retireOnce(db, { attemptDays: gone, eventDays: gone }, clock.now())
}

/** Who asks so seldom, or of so little, that it may cost what it likes. */
const notHot: Record<string, string> = {
  remove_worker: 'one row a node',
  select_held_lanes: 'every five seconds, a row a webhook at most',
  add_webhook_depths: 'reads the whole queue, once a minute',
  thin_webhook_counts: 'once a minute, a bite of what is a day old',
  delete_old_webhook_counts: 'once a minute, a bite of what is a month old',
  read_one_moment: 'no table',
  select_configured: 'once a minute, and as many as there are webhooks',
  select_configured_cursors: 'once a minute, and as many as there are webhooks',
  follow_webhook: 'when a webhook changes, by its key',
  find_broken_logs: 'once a minute, of a bounded number of rows',
  count_due_later: 'a person recovers a webhook',
  count_ended_since_recovery: 'counts to 10,000 from where a recovery began, for its page',
  count_replayed: 'counts to 10,000 when a person begins a replay',
  select_skip: 'a person looks at what is skipped',
  select_skips: 'a person looks at what is skipped',
  select_secret_switches: 'a person looks at webhooks',
  select_idempotency_key: 'one row by its key, for a request that is repeated',
  select_depths: 'counts the whole queue, for whoever collects metrics',
  select_lanes_by_health: 'every webhook, for a page of the operator',
  count_lane_conditions: 'every webhook, for a page of the operator',
  insert_webhook: 'a person changes a webhook',
  count_webhooks: 'a person changes a webhook',
  lock_branch: 'a person changes a webhook',
  lock_signing_client: 'a person registers a webhook',
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
  select_webhooks_addressed: 'a person searches: web/search-plan',
  select_signing_secret: 'a person looks at a webhook',
  select_webhooks_by_ids: 'a program administers webhooks, a hundred at a time',
  select_own_webhook_secrets: 'a program administers webhooks, a hundred at a time',
  notify_workers: 'reads nothing',
  tell_of_act: 'reads nothing',
  set_lock_timeout: 'reads nothing',
  select_first_published: 'one row a part, for whoever collects metrics',
  find_broken_cursors: 'once a minute, of a bounded number of rows',
  find_broken_exceptions: 'once a minute, of a bounded number of rows',
  find_unnumbered: 'once a minute, of a bounded number of rows',
  select_published_uids: 'once a minute, of a bounded number of rows',
  select_waiting: 'counts what waits at every webhook, once a minute',
  select_lane_states: 'every webhook that has work, for whoever collects metrics',
  select_rated_webhooks: 'every webhook with a rate, for whoever collects metrics',
  select_highest_passed: 'a person looks for what was skipped',
  skip_again: 'a person skips a delivery',
  hurry_again: 'a person sends a delivery again',
  select_served_webhooks: 'a person looks at their partners: web/search-plan',
  select_named_entry: 'a person searches: web/search-plan',
  select_receiver: 'one row by its key',
  forget_former_days: 'once a day',
  select_ending_feeds: 'once a day',
  keep_heads: 'once a day',
  forget_day: 'once a day',
  select_feed_of_day: 'once a day',
  drop_day: 'once a day',
  delete_day: 'once a day',
  lock_part: 'one row',
  select_partitions: 'once a day',
  select_old_days: 'a row a day',
  open_day: 'once a day',
  select_last_day: 'the doctor asks, of a row a day',
  find_part: 'one row by its key',
  read_layout: 'once a start, and no table',
  read_part_servers: 'every ten seconds, a row a part',
  append_carried: 'where parts lie on other servers: its function is measured there',
  lock_outbox: 'one row, where parts lie on other servers',
  take_outbox: 'where parts lie on other servers: as the look reads',
  delete_carried: 'where parts lie on other servers: by its key',
  take_act: 'where parts lie on other servers: of the few acts that are on their way',
  follow_act: 'where parts lie on other servers: when a webhook changes',
  delete_act: 'where parts lie on other servers: by its key',
  count_unnumbered: 'counts the whole queue, once a second for those who look',
  select_numbered_uids: 'once a minute, of a bounded number of rows',
  select_waiting_uids: 'once a minute, of a bounded number of names',
  select_unnumbered_uids: 'once a minute, of a bounded number of rows',
  count_behind: 'once a day, of webhooks that are behind',
  select_webhooks_behind: 'once a day, a row a webhook',
  expire_up_to: 'once a day, of webhooks that are behind',
  select_attempt_after: 'a person waits for what they sent',
  delete_old_passes: 'once a day',
  delete_old_replays: 'once a day',
}

const hotNames = () =>
  [...new Set([...seen.values()].flatMap((looks) => [...looks.keys()]))].filter((name) => !notHot[name])

test('every statement of the engine is looked at here, or has a reason not to be', async () => {
  const names = (await listStatements())
    .filter(({ file }) => file.startsWith('src/webhooks/'))
    .map(({ name }) => name)
  assert.ok(names.length > 80)
  const unseen = names.filter((name) => !notHot[name] && ![...seen.values()].some((looks) => looks.has(name)))
  assert.deepEqual(unseen, [])
  assert.deepEqual(
    Object.keys(notHot).filter((name) => !names.includes(name)),
    [],
    'there is no such statement any more',
  )
})

/** Tables that grow with traffic: their indexes begin with their names. */
const largeTables = ['log', 'outcomes', 'answers', 'outbox(?!_floors)', 'exceptions', 'agains']
const large = RegExp(`^(${largeTables.join('|')})`)

test('whatever of a large table a hot statement reads, it goes by the same indexes whatever the statistics say, and reads no large table from end to end', () => {
  const problems = hotNames().flatMap((name) => {
    const looks = [...seen].filter(([, each]) => each.has(name))
    const whole = looks.map(([, each]) => printOf(/./, each.get(name)!.readWhole)).join('')
    const unsteady = largeTables.flatMap((table) => {
      const chosen = looks
        .map(
          ([statistics, each]) =>
            [statistics, printOf(RegExp(`^${table}_`), each.get(name)!.indexes)] as const,
        )
        .filter(([, indexes]) => indexes !== '')
      return new Set(chosen.map(([, indexes]) => indexes)).size > 1
        ? [[name, ...chosen.map((each) => each.join(': '))]]
        : []
    })
    return [...unsteady, ...(whole === '' ? [] : [`${name} reads ${whole}`])]
  })
  assert.deepEqual(problems, [])
})

function printOf(some: RegExp, names: ReadonlySet<string>): string {
  return [...names]
    .filter((name) => some.test(name) && large.test(name))
    .sort()
    .join(' ')
}

/** Between two looks the house has changed a little. */
const factor = 3
const slack = { pages: 1_000, rows: 4_000 }
/** Less than a tenth of what the log and its outcomes have; counts go to 10,000. */
const atMost = { pages: 25_000, rows: 80_000 }

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

/**
 * What others feel while something large is done for one: a million waiting deliveries are deleted with their webhook, a day is retired, a
 * hundred thousand are sent again. Their p99 in rounds of a few seconds meanwhile, beside the same rounds before and after: medians of both.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { statement } from '../src/database/database.ts'
import { cancelReplay, startReplay } from '../src/webhooks/replay.ts'
import { retireOnce } from '../src/webhooks/retention.ts'
import { deleteWebhook, getWebhook, type Webhook } from '../src/webhooks/webhook.ts'
import type { Benchmark } from './benchmark.ts'
import { type Branches, openBranches } from './branches.ts'
import { fillHistory } from './history.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import type { Result } from './report.ts'
import { median, quantile } from './rounds.ts'
import { here } from './source.ts'
import { judgeTails } from './tails.ts'

const waiting = 1_000_000
const replayed = 100_000
const replayedForMs = 20_000
const retiredDays = 3
/** Younger than what the gateway retires by itself. */
const lastDayAgo = 20
const perSecond = 200
const roundMs = 4_000
const quietRounds = 3
const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })

export const beside: Benchmark = {
  name: 'beside',
  async run(stage, { rows = waiting }) {
    const receiver = await startReceiver(stage)
    const house = await openBranches(stage, here, receiver)
    const days = await fillHistory(house.gateway, {
      branchIds: house.branchIds,
      endedDaysAgo: lastDayAgo,
      days: retiredDays,
      deliveriesADay: rows / retiredDays,
    })
    const large = await makeLarge(house, receiver, rows)
    const again = await makeReplayable(house, await startReceiver(stage), Math.min(replayed, rows))
    await house.publish(perSecond, roundMs)
    const results: Result[] = []
    const note = async (what: string, act: () => Promise<void>) => {
      results.push(await measureBeside(house, what, act))
    }
    await note(`${rows.toLocaleString('en')} waiting are deleted`, () => clearAway(house, large))
    await note(`${retiredDays} days are retired`, () => retire(house, days))
    await note(`${Math.min(replayed, rows).toLocaleString('en')} are replayed`, () => replay(house, again))
    return results
  },
}

/** Load before, meanwhile for as long as it takes, and after. */
async function measureBeside(house: Branches, what: string, act: () => Promise<void>): Promise<Result> {
  const quiet: number[] = []
  const meanwhile: number[] = []
  const p99 = async () => quantile(await house.publish(perSecond, roundMs), 0.99)
  for (let n = 0; n < quietRounds; n++) quiet.push(await p99())
  let isOver = false
  const started = performance.now()
  const acting = act().finally(() => {
    isOver = true
  })
  do meanwhile.push(await p99())
  while (!isOver)
  await acting
  const tookS = ((performance.now() - started) / 1000).toFixed(1)
  process.stderr.write(`  ${what}: ${tookS} s; p99 of its rounds ${meanwhile.map(Math.round).join(', ')} ms\n`)
  for (let n = 0; n < quietRounds; n++) quiet.push(await p99())
  const tail = { name: `beside, ${what}`, against: 'before and after', goal: 1.3, perSecond, quantile: 0.99 }
  return judgeTails(
    tail,
    quiet.map((alone) => [median(meanwhile), alone]),
  )
}

const selectWebhook = statement('bench_webhook', 'SELECT id FROM webhooks WHERE branch_id = $1 ORDER BY id')

async function makeWebhook({ gateway }: Branches, receiver: Receiver, path: string): Promise<Webhook> {
  const branchId = await gateway.makeBranch([`${receiver.origin}/${path}`])
  const [row] = await gateway.db.query<{ id: number }>(selectWebhook, [branchId])
  return getWebhook(gateway.db, { branchId, environment: 'live' }, row!.id)
}

/** Paused, so that all of it waits. */
async function makeLarge(house: Branches, receiver: Receiver, rows: number): Promise<Webhook> {
  const webhook = await makeWebhook(house, receiver, 'large')
  await house.gateway.db.script(`
    UPDATE webhooks SET state = 'paused' WHERE id = ${webhook.id};
    SELECT open_day(day_of(now()));
    INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at)
    SELECT delivery_offset + nextval('delivery_numbers'), ${webhook.id}, n, 'transaction:' || n, 0, now(), now()
    FROM days, generate_series(1, ${rows}) AS n WHERE day = day_of(now())`)
  await house.gateway.db.script('VACUUM ANALYZE queued_deliveries')
  return webhook
}

/** Delivered earlier today. */
async function makeReplayable(house: Branches, receiver: Receiver, rows: number): Promise<Webhook> {
  const webhook = await makeWebhook(house, receiver, 'again')
  await house.gateway.db.script(`
    WITH stored AS (
      INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
      SELECT event_offset + nextval('event_numbers'), 'live', ${webhook.branchId}, 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, repeat('x', 250), now()
      FROM days, generate_series(1, ${rows}) AS n WHERE day = day_of(now()) RETURNING id, entity)
    INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at)
    SELECT delivery_offset + nextval('delivery_numbers'), ${webhook.id}, stored.id, entity, 'delivered', 1, now(), now()
    FROM stored, days WHERE day = day_of(now())`)
  await house.gateway.db.script('VACUUM ANALYZE')
  await house.gateway.db.script('CHECKPOINT')
  return webhook
}

async function clearAway({ gateway: { db } }: Branches, webhook: Webhook): Promise<void> {
  await deleteWebhook(db, webhook, act())
  await until(async () => {
    const [row] = await db.query<{ cleared: boolean }>(selectCleared, [webhook.id])
    return row!.cleared
  })
}

const selectCleared = statement('bench_cleared', 'SELECT cleared_at IS NOT NULL AS cleared FROM webhooks WHERE id = $1')

/** Deliveries, attempts and the log of a day; its events leave with the next. */
const tablesOfDay = 3

/** A day at a time, as housekeeping comes round to them. */
async function retire({ gateway: { db } }: Branches, days: readonly number[]): Promise<void> {
  for (const index of days.keys()) {
    await wait(roundMs / (days.length + 1))
    const eventDays = lastDayAgo + days.length - 2 - index
    const { days: left } = await retireOnce(db, { attemptDays: eventDays, eventDays }, new Date())
    if (left < tablesOfDay) throw new Error(`Only ${left} tables of day ${days[index]} left.`)
  }
}

const selectReplay = statement('bench_replay', `SELECT state FROM replays WHERE id = $1`)

/** To its end, or as much of it as there is time for. */
async function replay({ gateway: { db } }: Branches, webhook: Webhook): Promise<void> {
  const { id } = await startReplay(db, webhook, {}, act())
  const over = performance.now() + replayedForMs
  await until(async () => {
    const [row] = await db.query<{ state: string }>(selectReplay, [id])
    return row!.state === 'finished' || performance.now() > over
  })
  const { done } = await db.transaction((sql) => cancelReplay(sql, webhook, id, act()))
  process.stderr.write(`  ${done.toLocaleString('en')} were asked for meanwhile\n`)
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await wait(100)
}

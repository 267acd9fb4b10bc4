/**
 * What others feel while something large is done for one: a webhook for which a million wait is resumed,
 * paused, sent to again and deleted, a day is retired, a hundred thousand are replayed. Their p99 in rounds
 * of a few seconds meanwhile, beside the same rounds before and after: medians of both. And how long such an
 * act takes.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { cancelReplay, startReplay } from '../src/webhooks/deliveries/replay.ts'
import { retireOnce } from '../src/webhooks/deliveries/retention.ts'
import {
  deleteWebhook,
  getWebhook,
  setWebhookState,
  type Webhook,
} from '../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../test/support/ask.ts'
import { followByHand } from '../test/support/follow.ts'
import type { Benchmark } from './benchmark.ts'
import { type Branches, openBranches } from './branches.ts'
import { fillHistory } from './history.ts'
import { printDelivered, printEntries } from './log-by-hand.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type Result, withinLimit } from './report.ts'
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
/** So often, as somebody would who cannot decide: what is sent between two of them is little. */
const changes = 20
const changeEveryMs = roundMs / (changes + 1)
const actLimitMs = 50
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
    const asked = new ActTimes()
    const many = `${rows.toLocaleString('en')} waiting`
    await note(`${many} are resumed and paused`, () => changeOften(house, large, asked))
    await asked.time('begin of a replay', () => beginReplay(house, large))
    await note(`${many} are deleted`, () => asked.time('delete', () => clearAway(house, large)))
    await note(`${retiredDays} days are retired`, () => retire(house, days))
    await note(`${Math.min(replayed, rows).toLocaleString('en')} are replayed`, () => replay(house, again))
    return [...results, ...asked.judge(many)]
  },
}

/** How long whoever acts waits. */
class ActTimes {
  readonly #ms = new Map<string, number[]>()

  async time(name: string, act: () => Promise<unknown>): Promise<void> {
    const started = performance.now()
    await act()
    this.#ms.set(name, [...(this.#ms.get(name) ?? []), performance.now() - started])
  }

  judge(many: string): Result[] {
    return [...this.#ms].map(([name, ms]) => withinLimit(`${name}, ${many}`, median(ms), actLimitMs, 'ms'))
  }
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
  process.stderr.write(
    `  ${what}: ${tookS} s; p99 of its rounds ${meanwhile.map(Math.round).join(', ')} ms\n`,
  )
  for (let n = 0; n < quietRounds; n++) quiet.push(await p99())
  const tail = { name: `beside, ${what}`, against: 'before and after', goal: 1.3, perSecond, quantile: 0.99 }
  return judgeTails(
    tail,
    quiet.map((alone) => [median(meanwhile), alone]),
  )
}

const selectWebhook = 'SELECT id FROM webhooks WHERE branch_id = $1 ORDER BY id'

async function makeWebhook({ gateway }: Branches, receiver: Receiver, path: string): Promise<Webhook> {
  const branchId = await gateway.makeBranch([`${receiver.origin}/${path}`])
  const [row] = await ask<{ id: number }>(gateway.db, selectWebhook, [branchId])
  return getWebhook(gateway.db, { branchId, environment: 'live' }, row!.id)
}

/** Paused, so that all of it waits. */
async function makeLarge(house: Branches, receiver: Receiver, rows: number): Promise<Webhook> {
  const webhook = await makeWebhook(house, receiver, 'large')
  await house.gateway.db.script(`
    UPDATE webhooks SET state = 'paused' WHERE id = ${webhook.id};
    ${followByHand}
    ${printEntries(webhook.branchId, rows)}`)
  await house.gateway.db.script('VACUUM ANALYZE')
  return webhook
}

/** Delivered earlier today. */
async function makeReplayable(house: Branches, receiver: Receiver, rows: number): Promise<Webhook> {
  const webhook = await makeWebhook(house, receiver, 'again')
  const { branchId } = webhook
  await house.gateway.db.script(
    printEntries(branchId, rows) + printDelivered(branchId, `branch_id = ${branchId}`),
  )
  await house.gateway.db.script('VACUUM ANALYZE')
  await house.gateway.db.script('CHECKPOINT')
  return webhook
}

async function changeOften({ gateway: { db } }: Branches, webhook: Webhook, asked: ActTimes): Promise<void> {
  for (let n = 0; n < changes; n++) {
    const state = n % 2 === 0 ? 'active' : 'paused'
    await asked.time(state === 'active' ? 'resume' : 'pause', () =>
      setWebhookState(db, webhook, state, act()),
    )
    await wait(changeEveryMs)
  }
}

/** Of everything that the webhook ever had. */
async function beginReplay({ gateway: { db } }: Branches, webhook: Webhook): Promise<void> {
  await startReplay(db, webhook, {}, act())
}

/** It is gone when it is answered. */
async function clearAway({ gateway: { db } }: Branches, webhook: Webhook): Promise<void> {
  await deleteWebhook(db, webhook, act())
}

/** Of the answers, and of the log with its outcomes. */
const daysLeaving = 2

/** A day at a time, as housekeeping comes round to them. */
async function retire({ gateway: { db } }: Branches, days: readonly number[]): Promise<void> {
  for (const index of days.keys()) {
    await wait(roundMs / (days.length + 1))
    const eventDays = lastDayAgo + days.length - 2 - index
    // Nobody waits long for a day to leave: housekeeping comes again.
    let left = 0
    for (let tries = 0; left < daysLeaving && tries < 20; tries++)
      left += (await retireOnce(db, { attemptDays: eventDays, eventDays }, new Date())).days
    if (left < daysLeaving) throw new Error(`Day ${days[index]} did not leave.`)
  }
}

const selectReplay = 'SELECT state FROM replay_cursors WHERE webhook_id = $1 AND round = $2'

/** To its end, or as much of it as there is time for. */
async function replay({ gateway: { db } }: Branches, webhook: Webhook): Promise<void> {
  const { id } = await startReplay(db, webhook, {}, act())
  const over = performance.now() + replayedForMs
  await until(async () => {
    const [row] = await ask<{ state: string }>(db, selectReplay, [webhook.id, id])
    return row!.state === 'finished' || performance.now() > over
  })
  const { done } = await db.transaction((sql) => cancelReplay(sql, webhook, id, act()))
  process.stderr.write(`  ${done.toLocaleString('en')} were asked for meanwhile\n`)
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await wait(100)
}

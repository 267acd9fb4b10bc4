/**
 * The shapes that load has: one branch with a hundred webhooks, a hundred branches with one, a backlog of
 * theirs, and a backlog over few and over many lanes. Deliveries a second and processor time of each (gateway
 * and PostgreSQL), in turns with a loop that signs and POSTs and stores nothing.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../test/support/ask.ts'

import { followByHand } from '../test/support/follow.ts'
import type { Benchmark } from './benchmark.ts'
import { readProcessUs } from './costs/processor-time.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { printEntries } from './log-by-hand.ts'
import { openMeter } from './meter.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import type { Result } from './report.ts'
import { median } from './rounds.ts'
import { type PeerProcess, startPeer } from './server-process.ts'
import type { Stage } from './stage.ts'

const rounds = 5
const publishers = 4
const deliveries = 20_000
const backlog = 200_000
const backlogBranches = 20
const lanes = [100, 1_500, 20_000]
const goals = { fanOut: 0.75, spread: 0.45, drained: 0.65, cost: 1.4, lanes: 1.3 }

interface Measurement {
  readonly rate: number
  readonly usEach: number
}
type Measure = () => Promise<Measurement>

export const shapes: Benchmark = {
  name: 'shapes',
  async run(stage) {
    const receiver = await startReceiver(stage)
    const loop = await startPeer(stage, new URL('peers/undici-loop.ts', import.meta.url), [receiver.origin])
    const bare = () => measureLoop(loop, receiver)
    const one = await openShape(stage, receiver, { branches: 1, webhooks: 100 })
    const hundred = await openShape(stage, receiver, { branches: 100, webhooks: 1 })
    const results = [
      ...(await beside('one branch of 100', () => one.publish(deliveries), bare, goals.fanOut, goals.cost)),
      ...(await beside('100 branches of one', () => hundred.publish(deliveries), bare, goals.spread)),
      ...(await beside('a backlog of 100 branches', () => hundred.drain(deliveries), bare, goals.drained)),
    ]
    return [...results, ...(await compareLanes(stage, receiver))]
  },
}

async function beside(
  name: string,
  ours: Measure,
  theirs: Measure,
  rate: number,
  cost = 0,
): Promise<Result[]> {
  const pairs: (readonly [Measurement, Measurement])[] = []
  for (let round = 0; round <= rounds; round++) pairs.push([await ours(), await theirs()])
  // The first round warms up.
  pairs.shift()
  const figure = (of: (each: Measurement) => number) => ({
    ratio: median(pairs.map(([own, other]) => of(own) / of(other))),
    ours: median(pairs.map(([own]) => of(own))),
    theirs: median(pairs.map(([, other]) => of(other))),
  })
  const against = 'undici and HMAC alone'
  return [
    { name, against, goal: rate, unit: 'deliveries/s', ...figure((each) => each.rate) },
    {
      ...{ name: `${name}: processor time`, against, unit: 'µs each', ...figure((each) => each.usEach) },
      ...(cost > 0 ? { goal: cost, atMost: true } : { goal: 0 }),
    },
  ]
}

/** Its own processor time: what receives is the same on both sides. */
async function measureLoop(loop: PeerProcess, receiver: Receiver): Promise<Measurement> {
  const [startedMs, before] = [performance.now(), readProcessUs(loop.pid)]
  await Promise.all([loop.ask('deliver', deliveries), receiver.awaitMore(deliveries)])
  const usEach = (readProcessUs(loop.pid) - before) / deliveries
  return { rate: (deliveries * 1000) / (performance.now() - startedMs), usEach }
}

interface Shape {
  publish(count: number): Promise<Measurement>
  /** What waits was written to the log in one transaction: from its end on. */
  drain(count: number): Promise<Measurement>
}

async function openShape(
  stage: Stage,
  receiver: Receiver,
  of: { readonly branches: number; readonly webhooks: number },
): Promise<Shape> {
  const gateway = await startEmptyGateway(stage)
  const branchIds: number[] = []
  for (let branch = 0; branch < of.branches; branch++)
    branchIds.push(await makeBranch(gateway, receiver, branch, of.webhooks))
  await gateway.db.script(followByHand)
  const publisher = await gateway.makePublisher()
  const readUs = await openMeter(gateway)
  const measure = async (
    count: number,
    begin: (started: () => void) => Promise<void>,
  ): Promise<Measurement> => {
    const settled = (await readSettled(gateway)) + count
    let [startedMs, before] = [performance.now(), readUs()]
    const started = () => {
      startedMs = performance.now()
      before = readUs()
    }
    await Promise.all([begin(started), receiver.awaitMore(count)])
    const rate = (count * 1000) / (performance.now() - startedMs)
    while ((await readSettled(gateway)) < settled) await wait(50)
    return { rate, usEach: (readUs() - before) / count }
  }
  const eachOf = (count: number) => Math.round(count / of.branches / of.webhooks)
  return {
    publish: (count) =>
      measure(count, async () => {
        const left = branchIds.map((branchId) =>
          Array.from({ length: eachOf(count) }, () => makeEvent(branchId)),
        )
        const publishOn = async () => {
          for (let events = left.pop(); events; events = left.pop())
            await send(gateway.internal, publishRequest(publisher, events))
        }
        await Promise.all(Array.from({ length: publishers }, publishOn))
      }),
    drain: (count) =>
      measure(eachOf(count) * of.branches * of.webhooks, (started) =>
        gateway.db.transaction(async (sql) => {
          for (const branchId of branchIds) await sql.script(printEntries(branchId, eachOf(count)))
          await sql.script(
            `UPDATE cursors SET wake_at = '-infinity'; SELECT pg_notify('countersign_work', '*')`,
          )
          started()
        }),
      ),
  }
}

/** Beyond the first they are copies of it, by hand: there may be thousands. */
async function makeBranch(gateway: GatewayUnderTest, receiver: Receiver, branch: number, webhooks: number) {
  const branchId = await gateway.makeBranch([`${receiver.origin}/${branch}`])
  await gateway.db.script(`
    INSERT INTO webhooks (branch_id, environment, client_id, url, kinds, created_at, updated_at)
    SELECT branch_id, environment, client_id, url || '-' || n, kinds, created_at, updated_at
      FROM webhooks, generate_series(2, ${webhooks}) n
    WHERE branch_id = ${branchId}`)
  return branchId
}

const countSettled = `SELECT count(*)::int AS settled FROM outcomes WHERE state = 'delivered'`

async function readSettled({ db }: GatewayUnderTest): Promise<number> {
  return (await ask<{ settled: number }>(db, countSettled))[0]!.settled
}

async function compareLanes(stage: Stage, receiver: Receiver): Promise<Result[]> {
  const costs: Measurement[] = []
  for (const count of lanes) {
    const shape = await openShape(stage, receiver, {
      branches: backlogBranches,
      webhooks: count / backlogBranches,
    })
    await shape.drain(count)
    costs.push(await shape.drain(backlog))
    process.stderr.write(`${count} lanes: ${Math.round(costs.at(-1)!.rate)}/s\n`)
  }
  const [few] = costs as [Measurement]
  return lanes.slice(1).map((count, place) => {
    const many = costs[place + 1]!
    return {
      ...{
        name: `a backlog of ${backlog} over ${count} lanes`,
        against: `${lanes[0]} lanes`,
        goal: goals.lanes,
      },
      ...{
        atMost: true,
        unit: 'µs',
        ratio: few.rate / many.rate,
        ours: 1e6 / many.rate,
        theirs: 1e6 / few.rate,
      },
    }
  })
}

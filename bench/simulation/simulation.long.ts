import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCosts } from './costs.ts'
import { main } from './main.ts'
import { openRandom } from './random.ts'
import { openConnections, openCores, openLock, openLog, openThread } from './resources.ts'
import { run } from './run.ts'
import { dataCentre, partsOfCode, type Scenario } from './scenario.ts'
import { openShard } from './shard.ts'
import { openTimeline } from './timeline.ts'
import { validate } from './validation.ts'

const costs = readCosts()
const usual: Scenario = {
  load: { eventsPerSecond: 500, eventsAtOnce: 1 },
  ...{ webhooks: 3, branches: 50, nodes: 2, shards: 1, parts: partsOfCode, tellEveryMs: 0 },
  ...{ seconds: 3, seed: 7, machine: dataCentre },
}

test('what happens at one moment happens in the order in which it was planned', () => {
  const timeline = openTimeline()
  const seen: string[] = []
  for (const [name, delay] of [
    ['late', 30],
    ['first', 10],
    ['second', 10],
  ] as const) {
    timeline.after(delay, () => seen.push(name))
  }
  timeline.runUntil(20)
  assert.deepEqual(seen, ['first', 'second'])
  assert.equal(timeline.nowUs, 20)
})

test('one server with random arrivals and equal work waits as long as queueing theory says', () => {
  const timeline = openTimeline()
  const thread = openThread(timeline, openCores(timeline, 1))
  const random = openRandom(3)
  const [workUs, meanBetweenUs] = [80, 100]
  let waitedUs = 0
  let served = 0
  const arrive = () => {
    const at = timeline.nowUs
    thread.run(workUs, () => {
      waitedUs += timeline.nowUs - at - workUs
      served++
    })
    timeline.after(random.exponential(meanBetweenUs), arrive)
  }
  arrive()
  timeline.runUntil(60e6)
  const load = workUs / meanBetweenUs
  // M/D/1, by Pollaczek and Khinchine.
  const expectedUs = (load * workUs) / (2 * (1 - load))
  assert.ok(Math.abs(waitedUs / served / expectedUs - 1) < 0.05, `${waitedUs / served} µs instead of ${expectedUs}`)
  assert.ok(Math.abs(thread.busyUs / 60e6 - load) < 0.01)
})

test('two cores do twice as much as one, and a long piece of work lets short ones in between', () => {
  const timeline = openTimeline()
  const cores = openCores(timeline, 1)
  const ends: [string, number][] = []
  cores.run(10_000, () => ends.push(['long', timeline.nowUs]))
  cores.run(10, () => ends.push(['short', timeline.nowUs]))
  const pair = openCores(timeline, 2)
  for (const name of ['left', 'right']) pair.run(500, () => ends.push([name, timeline.nowUs]))
  timeline.runUntil(20_000)
  assert.deepEqual(ends, [
    ['left', 500],
    ['right', 500],
    ['short', 1_010],
    ['long', 10_010],
  ])
})

test('commits that wait together are written together, and a lock has one holder', () => {
  const timeline = openTimeline()
  const log = openLog(timeline, 100, 1)
  const ends: number[] = []
  for (let n = 0; n < 3; n++) log.flush(10, () => ends.push(timeline.nowUs))
  const lock = openLock(timeline)
  const holders: number[] = []
  for (let n = 0; n < 3; n++) {
    lock.take(() => {
      holders.push(timeline.nowUs)
      timeline.after(50, lock.release)
    })
  }
  timeline.runUntil(1_000)
  assert.deepEqual(ends, [110, 230, 230])
  assert.deepEqual(holders, [0, 50, 100])
  assert.equal(lock.heldUs, 150)
  assert.equal(log.bytes, 30)
})

test('whoever waits too long for a lock goes without it, and the next in line has it', () => {
  const timeline = openTimeline()
  const lock = openLock(timeline)
  const answers: [string, boolean, number][] = []
  const note = (name: string) => (isOurs: boolean) => answers.push([name, isOurs, timeline.nowUs])
  lock.take(note('first'))
  timeline.after(100, lock.release)
  lock.take(note('hasty'), 20)
  lock.take(note('patient'), 200)
  timeline.runUntil(1_000)
  assert.deepEqual(answers, [
    ['first', true, 0],
    ['hasty', false, 20],
    ['patient', true, 100],
  ])
})

test('a node has so many connections and no more', () => {
  const connections = openConnections(2)
  let taken = 0
  for (let n = 0; n < 3; n++) connections.take(() => taken++)
  assert.equal(taken, 2)
  connections.release()
  assert.equal(taken, 3)
})

test('an event that comes while nothing waits takes the short cut, and what comes in hundreds does not', () => {
  const lone = run({ ...usual, load: { eventsPerSecond: 20, eventsAtOnce: 1 }, nodes: 1 }, costs)
  assert.equal(lone.atOnceShare, 1)
  const many = run({ ...usual, load: { eventsPerSecond: 500, eventsAtOnce: 100 }, nodes: 1 }, costs)
  assert.equal(many.atOnceShare, 0)
})

test('a node that is alone notifies nobody', () => {
  const shard = (nodes: number) => {
    const opened = openShard({ ...usual, nodes }, costs)
    opened.timeline.runUntil(1e6)
    return opened
  }
  assert.equal(shard(1).notifying.heldUs, 0)
  assert.ok(shard(2).notifying.heldUs > 0)
})

test('a node that tells others less often makes fewer commits that notify, and everything arrives', () => {
  const settle = (tellEveryMs: number) => {
    const shard = openShard({ ...usual, nodes: 4, tellEveryMs, load: { ...usual.load, most: 500 } }, costs)
    shard.timeline.runUntil(30e6)
    assert.equal(shard.counts.settled, 1_500)
    return shard.notifying.heldUs
  }
  assert.ok(settle(20) < settle(0) / 2)
})

test('dispatch and settlement of a part take turns, and parts do not wait for each other', () => {
  const cores = { ...dataCentre, postgresCores: 64, logMegabytesPerSecond: 2_000 }
  const load = { eventsPerSecond: 20_000, eventsAtOnce: 50 }
  const wide = { ...usual, load, webhooks: 4, nodes: 40, branches: 2_000, seconds: 1, machine: cores }
  const one = run({ ...wide, parts: 1 }, costs)
  const sixteen = run({ ...wide, parts: 16 }, costs)
  assert.ok(sixteen.deliveriesPerSecond > 2 * one.deliveriesPerSecond)
})

test('every published event is delivered to every webhook or still on its way, at any moment', () => {
  const shard = openShard(usual, costs)
  for (let at = 0.1; at <= 3; at += 0.1) {
    shard.timeline.runUntil(at * 1e6)
    const { published, stored, dispatched, created, arrived, settled, atOnce } = shard.counts
    assert.ok(published >= stored && stored >= dispatched && dispatched >= atOnce)
    assert.equal(created, dispatched * 3)
    assert.ok(created >= arrived && arrived >= settled)
    assert.equal(shard.latenciesUs.length, arrived)
  }
})

test('when publishing ends, everything arrives once and is settled', () => {
  const shard = openShard({ ...usual, load: { ...usual.load, most: 1_000 } }, costs)
  shard.timeline.runUntil(30e6)
  const { atOnce, ...counts } = shard.counts
  const all = { published: 1_000, stored: 1_000, dispatched: 1_000, created: 3_000, arrived: 3_000, settled: 3_000 }
  assert.deepEqual(counts, all)
  assert.ok(atOnce <= 1_000)
})

test('the same seed gives the same run, another seed another', () => {
  assert.deepEqual(run(usual, costs), run(usual, costs))
  assert.notDeepEqual(run({ ...usual, seed: 8 }, costs), run(usual, costs))
  assert.equal(main(['--events', '300', '--seconds', '1']), main(['--events', '300', '--seconds', '1']))
})

test('no resource works more than the time there is', () => {
  const { busy } = run({ ...usual, load: { eventsPerSecond: 20_000, eventsAtOnce: 1 }, seconds: 1 }, costs)
  assert.ok(busy.nodes <= 1.001 && busy.postgres <= 1.001 && busy.log <= 1.001)
})

test('what is saturated is named', () => {
  const at = (change: Partial<Scenario>) => {
    const { bottleneck, isSaturated } = run({ ...usual, ...change }, costs)
    return isSaturated ? bottleneck : 'none'
  }
  assert.equal(at({}), 'none')
  assert.equal(at({ load: { eventsPerSecond: 8_000, eventsAtOnce: 20 }, webhooks: 1, nodes: 1 }), 'nodes')
  const wide = { load: { eventsPerSecond: 2_000, eventsAtOnce: 20 }, webhooks: 40, nodes: 40, parts: 1 }
  assert.equal(at({ ...wide, machine: { ...dataCentre, postgresCores: 64, logMegabytesPerSecond: 2_000 } }), 'parts')
  const few = { load: { eventsPerSecond: 2_000, eventsAtOnce: 20 }, webhooks: 5, nodes: 8 }
  assert.equal(at({ ...few, machine: { ...dataCentre, postgresCores: 1 } }), 'postgres')
  assert.equal(at({ ...few, machine: { ...dataCentre, logMegabytesPerSecond: 4 } }), 'log')
  const slow = { ...dataCentre, postgresCores: 64, commitUs: 20_000 }
  assert.equal(
    at({ load: { eventsPerSecond: 4_000, eventsAtOnce: 1 }, nodes: 40, parts: 64, machine: slow }),
    'notifications',
  )
  assert.equal(at({ load: { eventsPerSecond: 500, eventsAtOnce: 1 }, branches: 1, webhooks: 1 }), 'lanes')
})

test('the simulation is near what was measured', () => {
  for (const { name, measured, simulated, within } of validate(costs, 1)) {
    const ratio = simulated / measured
    assert.ok(ratio > 1 / within && ratio < within, `${name}: ${simulated} instead of ${measured}`)
  }
})

test('wrong options are refused', () => {
  assert.throws(() => main(['--events', 'many']), /--events must be a number above 0/)
  assert.throws(() => main(['--events', '0']), /above 0/)
  assert.throws(() => main(['--colour']), /Unknown option/)
  assert.match(main(['--help']), /--webhooks N/)
})

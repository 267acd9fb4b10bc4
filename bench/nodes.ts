/**
 * A second node beside one that works on a backlog. The receiver takes half a second for each answer, so that
 * what limits a node is how much it has under way, not the processors that all of them share on a small
 * machine.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { migrate } from '../src/database/migrations.ts'
import type { Benchmark } from './benchmark.ts'
import { openHouse } from './costs/house.ts'
import { send } from './load.ts'
import { makeBranch, makeEvent, makePublisher, publishRequest } from './publisher.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const branches = 4
const webhooks = 50
const events = 250
const fullSpeedMs = 4_000
const countedMs = 4_000
const graceMs = 2_000

export const nodes: Benchmark = {
  name: 'nodes',
  async run(stage) {
    const receiver = await startReceiver(stage)
    const house = await openHouse(stage)
    await migrate(house.db)
    const publisher = await makePublisher(house)
    const first = await house.startNode(stage, 'api,worker')
    for (let branch = 0; branch < branches; branch++) {
      const urls = Array.from({ length: webhooks }, (_, n) => `${receiver.origin}/slow/${branch}/${n}`)
      const branchId = await makeBranch(house, urls)
      const all = Array.from({ length: events }, () => makeEvent(branchId))
      await send(first.internal, publishRequest(publisher, all))
    }
    await wait(fullSpeedMs)
    const theirs = await measureRate(receiver)
    await house.startNode(stage, 'api,worker')
    await wait(graceMs)
    const ours = await measureRate(receiver)
    return [
      {
        ...{
          name: 'nodes, two on a backlog',
          against: 'one, two seconds before',
          goal: 1.6,
          unit: 'deliveries/s',
        },
        ...{ ratio: ours / theirs, ours, theirs },
      },
    ]
  },
}

async function measureRate(receiver: Receiver): Promise<number> {
  const [before, started] = [await receiver.count(), performance.now()]
  await wait(countedMs)
  return (((await receiver.count()) - before) * 1000) / (performance.now() - started)
}

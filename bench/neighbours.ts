/** Quiet branches beside two that publish without pause: how late what happens to the quiet ones is. */
import type { Benchmark } from './benchmark.ts'
import { openBranches } from './branches.ts'
import { send } from './load.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { startReceiver } from './receiver.ts'
import { withinLimit } from './report.ts'
import { quantile } from './rounds.ts'
import { here } from './source.ts'

const busy = 2
const atOnce = 100
const perSecond = 20
const durationMs = 20_000
const limitsMs = { p50: 10, p99: 60 }

export const neighbours: Benchmark = {
  name: 'neighbours',
  async run(stage) {
    const house = await openBranches(stage, here, await startReceiver(stage))
    const elsewhere = await startReceiver(stage)
    const branchIds: number[] = []
    for (let branch = 0; branch < busy; branch++)
      branchIds.push(await house.gateway.makeBranch([`${elsewhere.origin}/${branch}`]))
    const publisher = await house.gateway.makePublisher()
    await house.publish(perSecond, 2_000)
    let isOver = false
    const publishing = branchIds.map(async (branchId) => {
      while (!isOver) {
        const events = Array.from({ length: atOnce }, () => makeEvent(branchId))
        await send(house.gateway.internal, publishRequest(publisher, events))
      }
    })
    const latencies = await house.publish(perSecond, durationMs).finally(() => {
      isOver = true
    })
    await Promise.all(publishing)
    return [
      withinLimit(`${busy} busy neighbours, p50`, quantile(latencies, 0.5), limitsMs.p50, 'ms'),
      withinLimit(`${busy} busy neighbours, p99`, quantile(latencies, 0.99), limitsMs.p99, 'ms'),
    ]
  },
}

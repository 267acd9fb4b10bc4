/** From publishing to arrival at a steady rate. The clock starts before the event is sent to the gateway. */
import type { Benchmark } from './benchmark.ts'
import { startEmptyGateway } from './gateway.ts'
import { makeBranch, makePublisher } from './publisher.ts'
import { startReceiver } from './receiver.ts'
import { type Result, withinLimit } from './report.ts'
import { quantile } from './rounds.ts'
import { publishSteadily } from './steady-publishing.ts'

const branches = 20
const warmUpMs = 3_000
const durationMs = 10_000
const loads = [
  { perSecond: 200, p95LimitMs: 20 },
  { perSecond: 1_000, p95LimitMs: 100 },
]

export const latency: Benchmark = {
  name: 'latency',
  async run(stage) {
    const receiver = await startReceiver(stage)
    const gateway = await startEmptyGateway(stage)
    const branchIds: number[] = []
    for (let n = 0; n < branches; n++) branchIds.push(await makeBranch(gateway, [`${receiver.origin}/${n}`]))
    const publisher = await makePublisher(gateway)
    const publish = (perSecond: number, forMs: number) =>
      publishSteadily(gateway, publisher, receiver, { branchIds, perSecond, durationMs: forMs, arrivalsEach: 1 })
    const results: Result[] = []
    for (const { perSecond, p95LimitMs } of loads) {
      await publish(perSecond, warmUpMs)
      const latencies = await publish(perSecond, durationMs)
      const third = Math.floor(latencies.length / 3)
      const early = quantile(latencies.slice(0, third), 0.5)
      const late = quantile(latencies.slice(-third), 0.5)
      results.push(withinLimit(`latency p95 at ${perSecond}/s`, quantile(latencies, 0.95), p95LimitMs, 'ms'), {
        name: `backlog at ${perSecond}/s`,
        against: 'the first third of the run',
        ratio: late / early,
        goal: 1.5,
        atMost: true,
        ours: late,
        theirs: early,
        unit: 'ms, median',
      })
    }
    return results
  },
}

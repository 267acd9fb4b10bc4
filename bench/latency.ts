/** From publishing to arrival at a steady rate. The clock starts before the event is sent to the gateway. */
import type { Benchmark, Figure } from './benchmark.ts'
import { openBranches } from './branches.ts'
import { readFamilyUs, readProcessUs } from './costs/processor-time.ts'
import { findPostgresPid } from './postgres.ts'
import { startReceiver } from './receiver.ts'
import { type Result, withinLimit } from './report.ts'
import { quantile } from './rounds.ts'
import { here } from './source.ts'

const warmUpMs = 3_000
const durationMs = 10_000
const roundMs = 5_000
const loads = [
  { perSecond: 200, p95LimitMs: 20 },
  { perSecond: 1_000, p95LimitMs: 100 },
]

export const latency: Benchmark = {
  name: 'latency',
  async run(stage) {
    const branches = await openBranches(stage, here, await startReceiver(stage))
    const results: Result[] = []
    for (const { perSecond, p95LimitMs } of loads) {
      await branches.publish(perSecond, warmUpMs)
      const latencies = await branches.publish(perSecond, durationMs)
      const third = Math.floor(latencies.length / 3)
      const early = quantile(latencies.slice(0, third), 0.5)
      const late = quantile(latencies.slice(-third), 0.5)
      results.push(
        withinLimit(`latency p95 at ${perSecond}/s`, quantile(latencies, 0.95), p95LimitMs, 'ms'),
        {
          name: `backlog at ${perSecond}/s`,
          against: 'the first third of the run',
          ratio: late / early,
          goal: 1.5,
          atMost: true,
          ours: late,
          theirs: early,
          unit: 'ms, median',
        },
      )
    }
    return results
  },
  async openCourse(stage, source) {
    const branches = await openBranches(stage, source, await startReceiver(stage))
    const { gateway } = branches
    const postgresPid = await findPostgresPid(gateway.db)
    const readUs = () => readProcessUs(gateway.pid) + readFamilyUs(postgresPid)
    return {
      async measure() {
        const figures: Figure[] = []
        for (const { perSecond } of loads) {
          const before = readUs()
          const latencies = await branches.publish(perSecond, roundMs)
          const us = (readUs() - before) / latencies.length
          const p = (share: number) => quantile(latencies, share)
          figures.push(
            { name: `latency p50 at ${perSecond}/s`, value: p(0.5), unit: 'ms', isCost: true },
            { name: `latency p95 at ${perSecond}/s`, value: p(0.95), unit: 'ms', isCost: true },
            { name: `processor time at ${perSecond}/s`, value: us, unit: 'µs an event', isCost: true },
          )
        }
        return figures
      },
    }
  },
}

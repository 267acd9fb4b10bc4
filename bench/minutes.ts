/**
 * Deliveries a second in the first minute of a database and after a quiet minute at whose end statistics were taken, beside its tenth minute: neither
 * an empty table's plans nor a full one's may matter.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { minute } from '../src/clock.ts'
import type { Benchmark } from './benchmark.ts'
import { type FanOut, openFanOut } from './delivery.ts'
import { startReceiver } from './receiver.ts'
import { median } from './rounds.ts'
import { here } from './source.ts'

const goal = 0.9
const minutesBetween = 8

export const minutes: Benchmark = {
  name: 'minutes',
  async run(stage) {
    const house = await openFanOut(stage, here, await startReceiver(stage))
    // The process warms up, the database is new.
    await house.measure()
    const first = await measureMinute(house)
    for (let n = 0; n < minutesBetween; n++)
      process.stderr.write(`minutes: ${Math.round(await measureMinute(house))} deliveries/s\n`)
    const tenth = await measureMinute(house)
    await wait(minute)
    await house.analyze()
    const after = await measureMinute(house)
    const figure = (name: string, ours: number) => ({
      ...{ name, against: 'the tenth minute', ratio: ours / tenth, goal, ours, theirs: tenth, unit: 'deliveries/s' },
    })
    return [figure('the first minute', first), figure('after a quiet minute and ANALYZE', after)]
  },
}

async function measureMinute(house: FanOut): Promise<number> {
  const rates: number[] = []
  for (const until = performance.now() + minute; performance.now() < until; ) rates.push(await house.measure())
  return median(rates)
}

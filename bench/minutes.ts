/**
 * Deliveries a second in the first minute of a database and after a quiet minute at whose end statistics were
 * taken, beside its tenth minute: neither an empty table's plans nor a full one's may matter.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { minute } from '../src/clock.ts'
import type { Benchmark } from './benchmark.ts'
import { type FanOut, openFanOut } from './delivery.ts'
import { startReceiver } from './receiver.ts'
import type { Result } from './report.ts'
import { median } from './rounds.ts'
import { here } from './source.ts'

const goals = { rate: 0.9, cost: 1 / 0.9 }
const minutesBetween = 8

export const minutes: Benchmark = {
  name: 'minutes',
  async run(stage) {
    const house = await openFanOut(stage, here, await startReceiver(stage))
    // The process warms up, the database is new.
    await house.measure()
    const first = await measureMinute(house)
    for (let n = 0; n < minutesBetween; n++) await measureMinute(house)
    const tenth = await measureMinute(house)
    await wait(minute)
    await house.analyze()
    const after = await measureMinute(house)
    return [
      ...compare('the first minute', first, tenth),
      ...compare('after a quiet minute and ANALYZE', after, tenth),
    ]
  },
}

interface Measurement {
  readonly rate: number
  /** What a machine takes away from everybody for a minute changes the rate, and not this. */
  readonly usEach: number
}

async function measureMinute(house: FanOut): Promise<Measurement> {
  const rates: number[] = []
  const before = house.readUs()
  for (const until = performance.now() + minute; performance.now() < until; )
    rates.push(await house.measure())
  const measured = {
    rate: median(rates),
    usEach: (house.readUs() - before) / (rates.length * house.deliveries),
  }
  process.stderr.write(
    `minutes: ${Math.round(measured.rate)} deliveries/s, ${Math.round(measured.usEach)} µs each\n`,
  )
  return measured
}

function compare(name: string, ours: Measurement, theirs: Measurement): Result[] {
  const against = 'the tenth minute'
  return [
    {
      ...{ name, against, goal: goals.rate, unit: 'deliveries/s' },
      ...{ ratio: ours.rate / theirs.rate, ours: ours.rate, theirs: theirs.rate },
    },
    {
      ...{ name: `${name}: processor time`, against, goal: goals.cost, atMost: true, unit: 'µs each' },
      ...{ ratio: ours.usEach / theirs.usEach, ours: ours.usEach, theirs: theirs.usEach },
    },
  ]
}

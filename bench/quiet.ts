/**
 * Deliveries a second after a minute in which nothing waited, at whose end statistics were taken: plans must
 * not hang on that moment.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Benchmark } from './benchmark.ts'
import { type FanOut, openFanOut } from './delivery.ts'
import { startReceiver } from './receiver.ts'
import { median } from './rounds.ts'
import { here } from './source.ts'

const rounds = 5
const quietMs = 60_000

export const quiet: Benchmark = {
  name: 'quiet',
  async run(stage) {
    const house = await openFanOut(stage, here, await startReceiver(stage))
    await house.measure()
    const before = await measureRounds(house)
    await wait(quietMs)
    await house.analyze()
    const after = await measureRounds(house)
    return [
      {
        ...{ name: 'quiet, then ANALYZE', against: 'before', goal: 0.95, unit: 'deliveries/s' },
        ...{ ratio: median(after) / median(before), ours: median(after), theirs: median(before) },
      },
    ]
  },
}

async function measureRounds(house: FanOut): Promise<number[]> {
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) rates.push(await house.measure())
  return rates
}

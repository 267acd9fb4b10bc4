/**
 * Rounds that alternate between all sides, because the machine's speed drifts: what is compared ran side by
 * side. A ratio is the median of the rounds' own ratios.
 */
import type { Contest, Peer } from './benchmark.ts'
import { type Load, measureRate, probe, type RoundTimes } from './load.ts'

const rounds = 5
const times: RoundTimes = { leadInMs: 1_000, countedMs: 1_250 }

export interface Comparison {
  readonly peer: Peer
  readonly ratio: number
  readonly ours: number
  readonly theirs: number
}

export async function compare({ ours, peers }: Contest): Promise<Comparison[]> {
  const sides = [ours, ...peers.map((peer) => peer.load)]
  for (const side of sides) await probe(side)
  const rates: number[][] = []
  for (let round = 0; round <= rounds; round++) rates.push(await measureEach(sides))
  // The first round warms every server up.
  rates.shift()
  return peers.map((peer, index) => ({
    peer,
    ratio: median(rates.map((rate) => rate[0]! / rate[index + 1]!)),
    ours: median(rates.map((rate) => rate[0]!)),
    theirs: median(rates.map((rate) => rate[index + 1]!)),
  }))
}

async function measureEach(sides: readonly Load[]): Promise<number[]> {
  const rates: number[] = []
  for (const side of sides) rates.push(await measureRate(side, times))
  return rates
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * Rounds that alternate between all sides, because the machine's speed drifts: what is compared ran side by
 * side. A ratio is the median of the rounds' own ratios.
 */
const rounds = 5

export interface Side {
  /** Does one round of the work and answers how much of it was done a second. */
  measure(): Promise<number>
}

export interface Comparison {
  readonly ratio: number
  readonly ours: number
  readonly theirs: number
}

export async function compare(ours: Side, peers: readonly Side[]): Promise<Comparison[]> {
  const rates: number[][] = []
  for (let round = 0; round <= rounds; round++) rates.push(await measureEach([ours, ...peers]))
  // The first round warms every server up.
  rates.shift()
  return peers.map((_, index) => ({
    ratio: median(rates.map((rate) => rate[0]! / rate[index + 1]!)),
    ours: median(rates.map((rate) => rate[0]!)),
    theirs: median(rates.map((rate) => rate[index + 1]!)),
  }))
}

async function measureEach(sides: readonly Side[]): Promise<number[]> {
  const rates: number[] = []
  for (const side of sides) rates.push(await side.measure())
  return rates
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right)
  const place = (sorted.length - 1) * share
  const below = sorted[Math.floor(place)]!
  return below + (sorted[Math.ceil(place)]! - below) * (place - Math.floor(place))
}

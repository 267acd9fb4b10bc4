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

/**
 * A peer that fails sits the other rounds out, and its error stands in the place of its comparison. When ours
 * fails, nothing is compared.
 */
export async function compare(ours: Side, peers: readonly Side[]): Promise<(Comparison | Error)[]> {
  const pairs = peers.map((): [number, number][] => [])
  const errors: (Error | undefined)[] = peers.map(() => undefined)
  for (let round = 0; round <= rounds; round++) {
    const own = await ours.measure()
    for (const [index, peer] of peers.entries()) {
      if (errors[index]) continue
      try {
        pairs[index]!.push([own, await peer.measure()])
      } catch (error) {
        errors[index] = error instanceof Error ? error : new Error(String(error))
      }
    }
    if (errors.every(Boolean)) break
  }
  // The first round warms every server up.
  return pairs.map(([, ...counted], index) => errors[index] ?? judge(counted))
}

function judge(pairs: readonly (readonly [number, number])[]): Comparison {
  return {
    ratio: median(pairs.map(([ours, theirs]) => ours / theirs)),
    ours: median(pairs.map(([ours]) => ours)),
    theirs: median(pairs.map(([, theirs]) => theirs)),
  }
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

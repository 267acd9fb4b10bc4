/** How late the slowest are in one house, beside another, in turns. */
import type { Branches } from './branches.ts'
import type { Result } from './report.ts'
import { median, quantile } from './rounds.ts'

const roundMs = 3_000
const rounds = 5

export interface Tail {
  readonly name: string
  readonly against: string
  /** At most. */
  readonly goal: number
  readonly perSecond: number
  readonly quantile: number
}

export async function compareTails(tail: Tail, ours: Branches, theirs: Branches): Promise<Result> {
  const pairs: number[][] = []
  for (let round = 0; round <= rounds; round++) {
    const each: number[] = []
    for (const place of round % 2 === 0 ? [0, 1] : [1, 0]) {
      each[place] = quantile(await [ours, theirs][place]!.publish(tail.perSecond, roundMs), tail.quantile)
    }
    pairs.push(each)
  }
  // The first round warms up.
  pairs.shift()
  return judgeTails(tail, pairs)
}

/** Each pair: ours and theirs. */
export function judgeTails(
  { name, against, goal, quantile }: Tail,
  pairs: readonly (readonly number[])[],
): Result {
  return {
    ...{ name, against, goal, atMost: true, unit: `ms, p${quantile * 100}` },
    ratio: median(pairs.map(([ours, theirs]) => ours! / theirs!)),
    ours: median(pairs.map(([ours]) => ours!)),
    theirs: median(pairs.map(([, theirs]) => theirs!)),
  }
}

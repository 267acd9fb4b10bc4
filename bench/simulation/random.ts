/** Chance that repeats itself: the same seed gives the same run. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  uniform(): number
  /** Times between arrivals that do not know of each other. */
  exponential(mean: number): number
}

/** Mulberry32. */
export function openRandom(seed: number): Random {
  let state = seed >>> 0
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { uniform, exponential: (mean) => -mean * Math.log(1 - uniform()) }
}

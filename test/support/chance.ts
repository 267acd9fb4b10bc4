/** Chance that can be repeated: the same seed, the same course of events. */
export interface Chance {
  /** At least 0, less than 1. */
  next(): number
  /** From 0 to one less than the limit. */
  below(limit: number): number
  pick<Item>(items: readonly Item[]): Item
  isTrue(probability: number): boolean
}

/** mulberry32: small, and good enough to choose what happens next. */
export function openChance(seed: number): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    pick: (items) => items[below(items.length)]!,
    isTrue: (probability) => next() < probability,
  }
}

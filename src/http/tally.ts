/** How much of a limit is used in a window of time: here, or counted by another for several. */
export interface Tally {
  /**
   * Counts one more unless so many are counted; answers how many that makes, which is more than `allowed`
   * when it was not counted.
   */
  count(window: number, key: string, allowed: number): number | Promise<number>
  /** As far as is known here. */
  find(window: number, key: string): number
  /** True while nothing is known to be counted. */
  readonly isQuiet: boolean
}

export interface LocalTally extends Tally {
  count(window: number, key: string, allowed: number): number
  /** What another process has counted. */
  learn(window: number, key: string, used: number): void
}

/**
 * Each window starts with an empty table. The one before is kept: whose clock is a moment behind still counts
 * in it.
 */
export function openTally(): LocalTally {
  let newest = 0
  let counts = new Map<string, number>()
  let before = new Map<string, number>()

  function tableOf(window: number): Map<string, number> {
    if (window > newest) {
      before = window === newest + 1 ? counts : new Map()
      counts = new Map()
      newest = window
    }
    return window === newest ? counts : before
  }

  return {
    get isQuiet() {
      return counts.size === 0 && before.size === 0
    },
    count(window, key, allowed) {
      const table = tableOf(window)
      const used = (table.get(key) ?? 0) + 1
      if (used <= allowed) table.set(key, used)
      return used
    },
    find: (window, key) => tableOf(window).get(key) ?? 0,
    learn(window, key, used) {
      const table = tableOf(window)
      table.set(key, Math.max(used, table.get(key) ?? 0))
    },
  }
}

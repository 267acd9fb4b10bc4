/**
 * How much of something that lasts may be under way at once for one caller, in this process or in all that
 * share its port.
 */
export interface Places {
  /** A way to give the place back, or undefined when all are taken. */
  take(key: string): Promise<(() => void) | undefined>
}

export function openPlaces(most: number): Places {
  const taken = openTakenPlaces()
  return {
    async take(key) {
      return taken.take(key, most) ? () => taken.leave(key) : undefined
    },
  }
}

export interface TakenPlaces {
  /** False when so many are taken. */
  take(key: string, most: number): boolean
  leave(key: string): void
}

export function openTakenPlaces(): TakenPlaces {
  const taken = new Map<string, number>()
  return {
    take(key, most) {
      const count = taken.get(key) ?? 0
      if (count >= most) return false
      taken.set(key, count + 1)
      return true
    },
    leave(key) {
      const count = (taken.get(key) ?? 1) - 1
      if (count === 0) taken.delete(key)
      else taken.set(key, count)
    },
  }
}

/** How much of something that lasts may be under way at once for one caller, in this process. */
export interface Places {
  /** A way to give the place back, or undefined when all are taken. */
  take(key: string): (() => void) | undefined
}

export function openPlaces(most: number): Places {
  const taken = new Map<string, number>()
  const change = (key: string, by: number) => {
    const count = (taken.get(key) ?? 0) + by
    if (count === 0) taken.delete(key)
    else taken.set(key, count)
  }
  return {
    take(key) {
      if ((taken.get(key) ?? 0) >= most) return undefined
      change(key, 1)
      return () => change(key, -1)
    },
  }
}

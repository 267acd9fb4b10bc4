/** Lets any number of waiters sleep until something may have happened, or for a while. */
export interface Signal {
  fire(): void
  /** A listener waits, or did until a moment ago. */
  isAwaited(): boolean
  /** `until` ends it early. */
  wait(atMostMs: number, until?: AbortSignal): Promise<void>
}

/** A listener that waits again and again is not waiting at every moment. */
export const awaitedForMs = 5_000

export function openSignal(): Signal {
  const waiting = new Set<() => void>()
  let lastMs = Number.NEGATIVE_INFINITY
  return {
    isAwaited: () => waiting.size > 0 || performance.now() - lastMs < awaitedForMs,
    fire() {
      for (const wake of waiting) wake()
    },
    wait: (atMostMs, until) =>
      new Promise((done) => {
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          until?.removeEventListener('abort', wake)
          done()
        }
        const timer = setTimeout(wake, atMostMs)
        lastMs = performance.now()
        waiting.add(wake)
        until?.addEventListener('abort', wake)
        if (until?.aborted) wake()
      }),
  }
}

/** Lets any number of waiters sleep until something may have happened, or for a while. */
export interface Signal {
  fire(): void
  /** `until` ends it early. */
  wait(atMostMs: number, until?: AbortSignal): Promise<void>
}

export function openSignal(): Signal {
  const waiting = new Set<() => void>()
  return {
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
        waiting.add(wake)
        until?.addEventListener('abort', wake)
        if (until?.aborted) wake()
      }),
  }
}

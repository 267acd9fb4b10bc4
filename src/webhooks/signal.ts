/** Lets any number of waiters sleep until something may have happened, or for a while. */
export interface Signal {
  fire(): void
  wait(atMostMs: number): Promise<void>
}

export function openSignal(): Signal {
  const waiting = new Set<() => void>()
  return {
    fire() {
      for (const wake of waiting) wake()
    },
    wait: (atMostMs) =>
      new Promise((done) => {
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          done()
        }
        const timer = setTimeout(wake, atMostMs)
        waiting.add(wake)
      }),
  }
}

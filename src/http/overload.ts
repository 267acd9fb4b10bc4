/**
 * Whether this process keeps up. A timer that comes late says how long everything else waits; when that is too long, and requests are
 * the reason, new ones are turned away at once instead of joining the queue, and those already here are answered in time.
 */
export interface LoadWatch {
  /** Counts a request; true when it is one too many. */
  turnsAway(): boolean
  close(): void
}

const lookEveryMs = 50
const lateAtMostMs = 400
/** Fewer in one turn are not why it took so long. */
const requestsAtLeast = 200

export function watchLoad(): LoadWatch {
  let dueAt = performance.now() + lookEveryMs
  let requests = 0
  let isOverloaded = false
  const timer = setInterval(() => {
    const now = performance.now()
    isOverloaded = now - dueAt > lateAtMostMs && requests >= requestsAtLeast
    requests = 0
    dueAt = now + lookEveryMs
  }, lookEveryMs)
  timer.unref()
  return {
    turnsAway() {
      requests++
      return isOverloaded
    },
    close: () => clearInterval(timer),
  }
}

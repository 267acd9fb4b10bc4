/**
 * Whether this process keeps up. A timer that comes late says how long everything else waits; while that is too long, new requests
 * are turned away at once instead of joining the queue, and those already here are answered in time.
 */
export interface LoadWatch {
  readonly isOverloaded: boolean
  close(): void
}

const lookEveryMs = 50
const lateAtMostMs = 400

export function watchLoad(): LoadWatch {
  let dueAt = performance.now() + lookEveryMs
  let isOverloaded = false
  const timer = setInterval(() => {
    const now = performance.now()
    isOverloaded = now - dueAt > lateAtMostMs
    dueAt = now + lookEveryMs
  }, lookEveryMs)
  timer.unref()
  return {
    get isOverloaded() {
      return isOverloaded
    },
    close: () => clearInterval(timer),
  }
}

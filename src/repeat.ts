/** Work that comes round. Never two runs of one task at once; a run that fails is tried again at its next turn. */
import type { Logger } from 'pino'

export interface Repeated {
  stop(): Promise<void>
}

export function repeat(log: Logger, name: string, everyMs: number, work: () => Promise<unknown>): Repeated {
  let running: Promise<unknown> = Promise.resolve()
  let busy = false
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    running = work()
      .catch((error: unknown) => log.warn({ err: error, task: name }, 'housekeeping failed; it is tried again'))
      .finally(() => {
        busy = false
      })
  }, everyMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

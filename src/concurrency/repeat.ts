/**
 * Work that comes round. Never two runs of one task at once; a run that fails is tried again at its next
 * turn.
 */
import type { Logger } from 'pino'
import { openFlights } from './single-flight.ts'

export interface Repetition {
  stop(): Promise<void>
}

export interface Task<Words extends readonly unknown[]> extends Repetition {
  /** Nothing, while a run is under way or when it was stopped. */
  run(...words: Words): void
}

export function openTask<Words extends readonly unknown[]>(
  log: Logger,
  name: string,
  work: (...words: Words) => Promise<unknown>,
): Task<Words> {
  let isStopped = false
  const runs = openFlights((...words: Words) =>
    work(...words).catch((error: unknown) =>
      log.warn({ err: error, task: name }, 'housekeeping failed; it is tried again'),
    ),
  )
  return {
    run(...words) {
      if (!isStopped) void runs.join(...words)
    },
    async stop() {
      isStopped = true
      await runs.landed()
    },
  }
}

export function repeat(log: Logger, name: string, everyMs: number, work: () => Promise<unknown>): Repetition {
  const task = openTask(log, name, work)
  const timer = setInterval(() => task.run(), everyMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await task.stop()
    },
  }
}

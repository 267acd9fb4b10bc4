/**
 * The end of a process that is told to stop: told while it starts, it finishes the start first, so that
 * nothing of its own outlives it.
 */
import type { Logger } from 'pino'

type End = (why: object, words: string) => void

/**
 * Ends on a signal; answers how to end for another reason. A process that gets several signals ends once:
 * Control-C in a terminal reaches every process of the group, and npm, or the parent of several, passes it on
 * to a process that has it already.
 */
export function endOnSignals(starting: Promise<{ close(): Promise<void> }>, log: Logger): End {
  let isEnding = false
  const end: End = (why, words) => {
    if (isEnding) return
    isEnding = true
    log.info(why, words)
    closeAndExit(starting, log)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => end({ signal }, 'stopping: requests under way are finished first'))
  return end
}

function closeAndExit(starting: Promise<{ close(): Promise<void> }>, log: Logger): void {
  starting
    .then((started) => started.close())
    .then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed')
        process.exit(1)
      },
    )
}

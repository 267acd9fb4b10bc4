/** The end of a process that was told to stop: told while it starts, it finishes the start first, so that nothing of its own outlives it. */
import type { Logger } from 'pino'

export function closeAndExit(starting: Promise<{ close(): Promise<void> }>, log: Logger): void {
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

/**
 * One run at a time; whoever calls while it runs makes it run once more, however many call. After every call
 * a run begins.
 */
interface Rerun {
  call(): void
  /** Answers when it no longer runs. */
  ended(): Promise<void>
}

/** A run that fails is the last until somebody calls again. */
export function openRerun(work: () => Promise<unknown>, failed: (error: unknown) => void): Rerun {
  let isWanted = false
  let isRunning = false
  let running: Promise<void> | undefined
  async function runUntilQuiet(): Promise<void> {
    isRunning = true
    try {
      while (isWanted) {
        isWanted = false
        await work()
      }
    } catch (error) {
      failed(error)
    } finally {
      // In the same moment in which nobody wants another: a call right after it must not believe in a run
      // that is over.
      isRunning = false
    }
  }
  return {
    call() {
      isWanted = true
      if (!isRunning) running = runUntilQuiet()
    },
    ended: async () => running,
  }
}

/**
 * One run at a time; calls while it runs make it run once more, however many they are. After every call a run
 * begins.
 */
interface Rerun {
  call(): void
  /** Answers when it no longer runs. */
  ended(): Promise<void>
}

/** A run that fails is the last until the next call. */
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
      // In the same tick in which no caller wants another run: a call right after it must not believe in a
      // run that is over.
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

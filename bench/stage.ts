/**
 * What a benchmark has opened: closed in reverse order, also when the benchmark fails, and all of it, also
 * when closing fails.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Stage {
  /** Remembers how to close what was just opened. */
  owns(close: () => Promise<void> | void): void
  makeFolder(): string
  close(): Promise<void>
}

export function openStage(): Stage {
  const closers: (() => Promise<void> | void)[] = []
  const owns = (close: () => Promise<void> | void) => void closers.push(close)
  return {
    owns,
    makeFolder() {
      const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
      owns(() => rmSync(folder, { recursive: true, force: true }))
      return folder
    },
    async close() {
      const errors: unknown[] = []
      for (const close of closers.splice(0).reverse()) {
        try {
          await close()
        } catch (error) {
          errors.push(error)
        }
      }
      if (errors.length > 0) throw errors[0]
    },
  }
}

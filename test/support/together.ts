/**
 * Many files of tests in one process: it starts once, and what they share is loaded and warm. Each file
 * becomes a test that holds the file's own; the next one begins when it is over and its hooks have run. The
 * runner takes files in the order of their names: batches come first, and short files fill what is left.
 * Alone, a file runs as it always did: `node --test --test-global-setup=test/support/global-setup.ts FILE`.
 */
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

export function together(...patterns: readonly string[]): void {
  for (const file of globSync(patterns).sort())
    test(file, async () => {
      await import(pathToFileURL(resolve(file)).href)
    })
}

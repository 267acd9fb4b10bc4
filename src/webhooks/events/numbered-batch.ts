/** What one look has given numbers. */
import type { LogEntry } from './entry.ts'

/** In one look. */
export const entriesAtMost = 1_000

/** An entry that has just been numbered. */
interface NumberedEntry extends LogEntry {
  readonly feed: number
}

export interface NumberedBatch {
  readonly part: number
  readonly entries: readonly NumberedEntry[]
  /** How many lanes were woken. */
  readonly woken: number
}

export function numberedBy(
  part: number,
  rows: readonly (NumberedEntry & { readonly woken: number })[],
): NumberedBatch {
  return { part, entries: rows, woken: rows[0]?.woken ?? 0 }
}

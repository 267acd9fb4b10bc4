/**
 * What a node remembers of the database: a bounded map whose entries carry the tags of the rows they were read
 * from. An announced change forgets every entry with its tag. An answer that was being read while anything changed
 * is used once and not kept, because nobody can tell on which side of the change it was read.
 */
import { type Changes, everything } from './changes.ts'

export interface Remembered<Value> {
  readonly value: Value
  readonly tags: readonly string[]
}

export interface Memory<Value> {
  /** Without a promise when it is known: the hot path stays synchronous. */
  recall(key: string): Value | undefined
  learn(key: string, read: () => Promise<Remembered<Value> | undefined>): Promise<Value | undefined>
}

export function openMemory<Value extends object>(changes: Changes, maxEntries = 10_000): Memory<Value> {
  /** In the order they were learned: the oldest makes room. Reading moves nothing, so it costs one look-up. */
  const entries = new Map<string, Remembered<Value>>()
  const keysByTag = new Map<string, Set<string>>()
  let epoch = 0

  changes.subscribe((tag) => {
    epoch++
    if (tag === everything) {
      entries.clear()
      keysByTag.clear()
    } else for (const key of [...(keysByTag.get(tag) ?? [])]) forget(key)
  })

  function forget(key: string): void {
    for (const tag of entries.get(key)?.tags ?? []) {
      const keys = keysByTag.get(tag)
      keys?.delete(key)
      if (keys?.size === 0) keysByTag.delete(tag)
    }
    entries.delete(key)
  }

  function keep(key: string, entry: Remembered<Value>): void {
    forget(key)
    if (entries.size >= maxEntries) forget(entries.keys().next().value!)
    entries.set(key, entry)
    for (const tag of entry.tags) {
      const keys = keysByTag.get(tag) ?? new Set()
      keysByTag.set(tag, keys.add(key))
    }
  }

  return {
    recall: (key) => (changes.isLive ? entries.get(key)?.value : undefined),
    async learn(key, read) {
      const before = epoch
      const entry = await read()
      if (entry && changes.isLive && before === epoch) keep(key, entry)
      return entry?.value
    },
  }
}

/**
 * What a node remembers of the database: so many bytes at most, in entries that carry the tags of the rows
 * they were read from. An announced change forgets every entry with its tag (a cache with invalidation by
 * tags). An answer that was being read while anything changed is used once and not kept, because it may have
 * been read on either side of the change.
 */
import { bytesOf } from '../concurrency/bounded-map.ts'
import { type Changes, everything } from './changes.ts'

export interface TaggedValue<Value> {
  readonly value: Value
  readonly tags: readonly string[]
}

interface MemoryEntry<Value> extends TaggedValue<Value> {
  readonly bytes: number
}

export interface Memory<Value> {
  /** Without a promise when it is known: the hot path stays synchronous. */
  recall(key: string): Value | undefined
  learn: Learn<Value>
}

/** Undefined where what is read may be. */
interface Learn<Value> {
  (key: string, read: () => Promise<TaggedValue<Value>>): Promise<Value>
  (key: string, read: () => Promise<TaggedValue<Value> | undefined>): Promise<Value | undefined>
}

const usualBytes = 8 * 1024 * 1024
/** Of an entry in the tables below, and of each of its tags. */
const ofEntry = 150
const ofTag = 60

export function openMemory<Value extends object>(changes: Changes, mostBytes = usualBytes): Memory<Value> {
  /**
   * In the order they were learned: the oldest makes room. Reading moves nothing, so it costs one look-up.
   */
  const entries = new Map<string, MemoryEntry<Value>>()
  /** Most tags are of one entry alone, and a set a tag would take more than all of it. */
  const keysByTag = new Map<string, string | Set<string>>()
  let bytes = 0
  let epoch = 0

  changes.subscribe((tag) => {
    epoch++
    if (tag === everything) {
      entries.clear()
      keysByTag.clear()
      bytes = 0
    } else for (const key of keysOf(keysByTag.get(tag))) forget(key)
  })

  function forget(key: string): void {
    const entry = entries.get(key)
    if (!entry) return
    entries.delete(key)
    bytes -= entry.bytes
    for (const tag of entry.tags) {
      const keys = keysByTag.get(tag)
      if (typeof keys === 'object') keys.delete(key)
      if (keys === key || (typeof keys === 'object' && keys.size === 0)) keysByTag.delete(tag)
    }
  }

  function keep(key: string, { value, tags }: TaggedValue<Value>): void {
    forget(key)
    const entry = {
      value,
      tags,
      bytes: ofEntry + bytesOf(key) + bytesOf(value) + bytesOf(tags) + ofTag * tags.length,
    }
    entries.set(key, entry)
    bytes += entry.bytes
    for (const tag of tags) {
      const keys = keysByTag.get(tag)
      if (typeof keys === 'object') keys.add(key)
      else keysByTag.set(tag, keys === undefined || keys === key ? key : new Set([keys, key]))
    }
    for (const oldest of entries.keys()) {
      if (bytes <= mostBytes) return
      forget(oldest)
    }
  }

  function learn(key: string, read: () => Promise<TaggedValue<Value>>): Promise<Value>
  function learn(key: string, read: () => Promise<TaggedValue<Value> | undefined>): Promise<Value | undefined>
  async function learn(key: string, read: () => Promise<TaggedValue<Value> | undefined>) {
    const before = epoch
    const entry = await read()
    if (entry && changes.isLive && before === epoch) keep(key, entry)
    return entry?.value
  }

  return { recall: (key) => (changes.isLive ? entries.get(key)?.value : undefined), learn }
}

function keysOf(keys: string | Set<string> | undefined): string[] {
  if (keys === undefined) return []
  return typeof keys === 'string' ? [keys] : [...keys]
}

/**
 * A map of so many bytes at most: the oldest make room. Reading moves nothing, so that it costs one look-up.
 * Bytes are counted roughly, by what V8 takes for things of their kind.
 */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #mostBytes: number
  #bytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  has(key: Key): boolean {
    return this.#entries.has(key)
  }

  set(key: Key, value: Value): void {
    this.delete(key)
    this.#entries.set(key, value)
    this.#bytes += entryBytes(key, value)
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#mostBytes) return
      this.delete(oldest)
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key)
    if (value !== undefined && this.#entries.delete(key)) this.#bytes -= entryBytes(key, value)
  }
}

const placeBytes = 8
const ofEntry = 5 * placeBytes
const ofString = 3 * placeBytes
const ofObject = 4 * placeBytes
const ofBuffer = 12 * placeBytes

function entryBytes(key: unknown, value: unknown): number {
  return ofEntry + bytesOf(key) + bytesOf(value)
}

/** Beside the place that points to it. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return ofString + Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 0
  if (ArrayBuffer.isView(value)) return ofBuffer + value.byteLength
  let bytes = ofObject
  for (const each of Object.values(value)) bytes += placeBytes + bytesOf(each)
  return bytes
}

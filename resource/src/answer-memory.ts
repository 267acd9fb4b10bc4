/**
 * Answers with the tags of what they depend on: so many bytes at most, roughly. Those that nobody has asked
 * for the longest make room.
 */
interface Entry<Answer> {
  readonly answer: Answer
  readonly tags: readonly string[]
  readonly bytes: number
}

/** Of an entry in the tables below, and of each of its tags. */
const ofEntry = 400
const ofTag = 120

export class AnswerMemory<Answer> {
  readonly #mostBytes: number
  readonly #entries = new Map<string, Entry<Answer>>()
  readonly #keysByTag = new Map<string, Set<string>>()
  #bytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  get size(): number {
    return this.#entries.size
  }

  recall(key: string): Answer | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.answer
  }

  keep(key: string, answer: Answer, tags: readonly string[], answerBytes: number): void {
    this.forget(key)
    const bytes = ofEntry + answerBytes + ofTag * tags.length
    this.#entries.set(key, { answer, tags, bytes })
    this.#bytes += bytes
    for (const tag of tags) {
      const keys = this.#keysByTag.get(tag)
      if (keys) keys.add(key)
      else this.#keysByTag.set(tag, new Set([key]))
    }
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#mostBytes) return
      this.forget(oldest)
    }
  }

  forget(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
    for (const tag of entry.tags) {
      const keys = this.#keysByTag.get(tag)
      keys?.delete(key)
      if (keys?.size === 0) this.#keysByTag.delete(tag)
    }
  }

  forgetTagged(tag: string): void {
    for (const key of [...(this.#keysByTag.get(tag) ?? [])]) this.forget(key)
  }

  forgetEverything(): void {
    this.#entries.clear()
    this.#keysByTag.clear()
    this.#bytes = 0
  }
}

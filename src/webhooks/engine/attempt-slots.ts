/**
 * How many attempts a node has under way, and which of them hold a slot. An attempt that takes longer than a
 * receiver usually does keeps no slot: receivers that hang starve no other webhook, and thousands of healthy
 * ones take turns instead of being sent to all at once. While more attempts are under way than the limit, a
 * webhook with such a slow attempt gets no further slot.
 */
import type { Pace } from '../outbound/pace.ts'

/** How long an attempt keeps its slot. */
export const slotMs = 250

export class AttemptSlots<Owner extends object> {
  readonly #pace: Pick<Pace, 'mostAt'>
  /** Attempts that hold a slot, in the order in which they began. */
  readonly #young = new Map<object, { readonly owner: Owner; readonly startedMs: number }>()
  /** How many slow attempts a webhook has under way. */
  readonly #slow = new Map<Owner, number>()
  #total = 0

  constructor(pace: Pick<Pace, 'mostAt'>) {
    this.#pace = pace
  }

  /** Attempts under way, whether they hold a slot or not. */
  get total(): number {
    return this.#total
  }

  /** Room for so many more attempts. */
  hasRoomFor(count: number, nowMs: number): boolean {
    this.#age(nowMs)
    return this.#young.size + count <= this.#pace.mostAt(nowMs)
  }

  /** Room for one more attempt of this webhook. */
  hasRoomOf(owner: Owner, nowMs: number): boolean {
    return this.hasRoomFor(1, nowMs) && (this.#total < this.#pace.mostAt(nowMs) || !this.#slow.has(owner))
  }

  take(attempt: object, owner: Owner, nowMs: number): void {
    this.#total++
    this.#young.set(attempt, { owner, startedMs: nowMs })
  }

  free(attempt: object, owner: Owner): void {
    this.#total--
    if (this.#young.delete(attempt)) return
    const left = (this.#slow.get(owner) ?? 0) - 1
    if (left > 0) this.#slow.set(owner, left)
    else this.#slow.delete(owner)
  }

  #age(nowMs: number): void {
    for (const [attempt, { owner, startedMs }] of this.#young) {
      if (nowMs - startedMs < slotMs) return
      this.#young.delete(attempt)
      this.#slow.set(owner, (this.#slow.get(owner) ?? 0) + 1)
    }
  }
}

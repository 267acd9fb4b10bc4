/**
 * So many attempts a second at most, because the receiver wants it: in any second, not in each of the clock's
 * (a sliding window). Where there is nothing left, it is waited for a twentieth of a second's worth, so that
 * a fast lane is not read one delivery at a time.
 */
import { after, second } from '../../clock.ts'

export const sendLimits = { least: 1, most: 1_000 } as const
const looksASecond = 20

export class SendLimit {
  readonly perSecond: number
  /** When the attempts of the last second were begun, in milliseconds, oldest first. */
  readonly #begun: number[]

  constructor(perSecond: number, before: SendLimit | readonly Date[] = []) {
    this.perSecond = perSecond
    this.#begun = before instanceof SendLimit ? before.#begun : before.map((at) => at.getTime())
  }

  /** How many may be begun now. */
  left(now: Date): number {
    this.#forget(now)
    return Math.max(0, this.perSecond - this.#begun.length)
  }

  /** One is begun. Answers until when none may be, if there is nothing left. */
  note(now: Date): Date | undefined {
    this.#begun.push(now.getTime())
    return this.left(now) > 0 ? undefined : this.#nextAt(now)
  }

  /** When nothing counts any more; undefined when nothing does. */
  clearAt(now: Date): Date | undefined {
    this.#forget(now)
    const last = this.#begun.at(-1)
    return last === undefined ? undefined : after(new Date(last), second)
  }

  #nextAt(now: Date): Date {
    const wanted = Math.max(1, Math.floor(this.perSecond / looksASecond))
    const freeing = this.#begun[this.#begun.length - this.perSecond + wanted - 1]!
    return new Date(Math.min(freeing, now.getTime()) + second)
  }

  /**
   * Times more than a second ahead were written by a clock that has been set back since: no attempt waits for
   * them.
   */
  #forget(now: Date): void {
    const nowMs = now.getTime()
    const isOver = (ms: number) => Math.abs(nowMs - ms) >= second
    for (let first = this.#begun[0]; first !== undefined && isOver(first); first = this.#begun[0])
      this.#begun.shift()
  }
}

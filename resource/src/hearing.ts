/**
 * What the feed of revocations has told, and what may be believed because of it. Two nodes of the gateway are
 * at work: one tells what has changed, another may be the one that answers, and each of them may be
 * `staleAtMostMs` behind. So an answer is remembered only if
 *
 * - one stream of the feed was open from the question to the answer;
 * - none of its tags was told since the question, or in the `staleAtMostMs` before: the node that answered
 *   may not have heard of that change yet;
 * - it was not asked for within `staleAtMostMs` of the feed's opening, when a change that nobody told here may
 *   still be unknown to the node that answers.
 *
 * In the last two cases the gateway is asked to read anew: such an answer is behind nothing that happened
 * before its question.
 */
import type { Clock } from './clock.ts'

/** How far a node of the gateway may be behind, and this one. */
export const staleAtMostMs = 2_500

/** The clocks of two machines go apart by less. */
const driftAtMost = 1 / 10_000
const tagsToldAtMost = 100_000

interface Stream {
  /** The tag of the service: answers without it were given in other words. */
  readonly own: string
  /** Not later than the gateway's own moment of opening; and not earlier. */
  readonly sentAtMs: number
  readonly openedAtMs: number
  heardUntilMs: number
  /** By the clock on the wall, which goes on while a machine sleeps. */
  beatAtMs: number
}

/** What was known when the gateway was asked. */
export interface Question {
  readonly askedAtMs: number
  /** Whether the gateway was asked to use nothing that it remembers. */
  readonly isAnew: boolean
  readonly stream: Stream | undefined
}

/** May be remembered; may be used for those who wait for it; must be asked for anew. */
export type Worth = 'lasting' | 'once' | 'stale'

export class Hearing {
  readonly #clock: Clock
  /** No answer is waited for longer. */
  readonly #answerTimeoutMs: number
  #stream: Stream | undefined
  #epoch = 0
  /** When each tag was told last, the first that was told first. */
  readonly #told = new Map<string, number>()
  /** Of more than can be kept: any tag may have been told until then. */
  #anyToldAtMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, answerTimeoutMs: number) {
    this.#clock = clock
    this.#answerTimeoutMs = answerTimeoutMs
  }

  /** Another one after everything that was told. */
  get epoch(): number {
    return this.#epoch
  }

  get isLive(): boolean {
    const stream = this.#stream
    if (!stream) return false
    return (
      this.#clock.monotonicMs() - stream.heardUntilMs < staleAtMostMs &&
      this.#clock.nowMs() - stream.beatAtMs < staleAtMostMs
    )
  }

  /** `sentAtMs` is when it was asked for. */
  opened(own: string, sentAtMs: number): void {
    this.#epoch++
    this.#stream = {
      own,
      sentAtMs,
      openedAtMs: this.#clock.monotonicMs(),
      heardUntilMs: Number.NEGATIVE_INFINITY,
      beatAtMs: Number.NEGATIVE_INFINITY,
    }
  }

  changed(tags: readonly string[]): void {
    this.#epoch++
    const nowMs = this.#clock.monotonicMs()
    for (const tag of tags) {
      this.#told.delete(tag)
      this.#told.set(tag, nowMs)
    }
    this.#forgetTold(nowMs)
  }

  #forgetTold(nowMs: number): void {
    const neededFromMs = nowMs - staleAtMostMs - this.#answerTimeoutMs
    for (const [tag, atMs] of this.#told) {
      if (atMs >= neededFromMs && this.#told.size <= tagsToldAtMost) return
      this.#told.delete(tag)
      if (atMs >= neededFromMs) this.#anyToldAtMs = atMs
    }
  }

  /** Everything has been told that happened until so long after the gateway opened the stream. */
  beat(afterOpeningMs: number): void {
    const stream = this.#stream
    if (!stream || !Number.isFinite(afterOpeningMs)) return
    const certainMs = stream.sentAtMs + afterOpeningMs - Math.abs(afterOpeningMs) * driftAtMost
    stream.heardUntilMs = Math.max(stream.heardUntilMs, Math.min(certainMs, this.#clock.monotonicMs()))
    stream.beatAtMs = this.#clock.nowMs()
  }

  ended(): void {
    this.#epoch++
    this.#stream = undefined
  }

  /** To be noted before the gateway is asked. */
  question(isAnew = false): Question {
    const stream = this.#stream
    const askedAtMs = this.#clock.monotonicMs()
    const isYoung = stream !== undefined && askedAtMs < stream.openedAtMs + staleAtMostMs
    return { askedAtMs, isAnew: isAnew || isYoung, stream }
  }

  /** What an answer with these tags is worth at this moment. */
  judge({ askedAtMs, isAnew, stream }: Question, tags: readonly string[]): Worth {
    const isLate = this.#clock.monotonicMs() - askedAtMs > this.#answerTimeoutMs
    if (isLate || this.#wasTold(tags, isAnew ? askedAtMs : askedAtMs - staleAtMostMs))
      return isAnew ? 'once' : 'stale'
    return stream && stream === this.#stream && tags[0] === stream.own ? 'lasting' : 'once'
  }

  #wasTold(tags: readonly string[], sinceMs: number): boolean {
    if (this.#anyToldAtMs >= sinceMs) return true
    return tags.some((tag) => (this.#told.get(tag) ?? Number.NEGATIVE_INFINITY) >= sinceMs)
  }
}

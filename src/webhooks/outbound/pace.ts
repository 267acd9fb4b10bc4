/**
 * How many attempts a node has under way at once. Receivers that take their time need many. But a thread that
 * is busy all the time sends none faster for having more under way: it only keeps more that is sent and not
 * written down, which a crash would send again, and that the collector copies. So the number falls while the
 * thread has no time left, and rises again (additive increase, multiplicative decrease).
 */
import { performance } from 'node:perf_hooks'

interface PaceLimits {
  readonly most: number
  readonly least: number
}

const lookEveryMs = 50
const busy = 0.9
const slower = 0.7
const faster = 50

/** The share of the time since the last call in which the thread was at work. */
type Meter = () => number

export class Pace {
  readonly #limits: PaceLimits
  readonly #readShare: Meter
  #most: number
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(limits: PaceLimits, readShare = openMeter()) {
    this.#limits = limits
    this.#readShare = readShare
    this.#most = limits.least
  }

  mostAt(nowMs: number): number {
    if (nowMs - this.#lookedAtMs >= lookEveryMs) this.#look(nowMs)
    return this.#most
  }

  #look(nowMs: number): void {
    this.#lookedAtMs = nowMs
    const wanted = this.#readShare() > busy ? this.#most * slower : this.#most + faster
    this.#most = Math.min(Math.max(wanted, this.#limits.least), this.#limits.most)
  }
}

function openMeter(): Meter {
  let before = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    return utilization
  }
}

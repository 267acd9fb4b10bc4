/**
 * A circuit breaker. It opens when of the last ten attempts, of at least three entities, none was accepted:
 * then one attempt at a time probes, 5 to 60 seconds apart, until one is accepted. One entity that its
 * receiver always refuses opens nothing: its own schedule holds it.
 */
import { after, day, minute, second } from '../../clock.ts'

export const attemptsLooked = 10
export const entitiesAtLeast = 3
const firstProbeMs = 5 * second
const longestProbeMs = minute
const disableAfterMs = 5 * day
const disableAfterAttempts = 100

export class Breaker {
  /** The entities of the last attempts, as long as none was accepted. */
  #refused: string[] = []
  #probes = 0
  #isOpen = false
  #probeAt: Date | undefined
  #refusedAt: Date | undefined
  #failures: number
  #failingSince: Date | undefined

  /** Of a lane that is taken over: the failures that its last holder wrote, and how many entities fail. */
  constructor(failures = 0, failingSince?: Date, entities = 0) {
    this.#failures = failures
    this.#failingSince = failingSince
    this.#isOpen = failures >= attemptsLooked && entities >= entitiesAtLeast
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Attempts in a row that were not accepted. */
  get failures(): number {
    return this.#failures
  }

  get failingSince(): Date | undefined {
    return this.#failingSince
  }

  /**
   * No attempt before then; undefined while the breaker is closed. A time by a clock that has been set back
   * since does not count.
   */
  probeAt(now: Date): Date | undefined {
    return this.#isOpen && !(this.#refusedAt && now < this.#refusedAt) ? this.#probeAt : undefined
  }

  accepted(): void {
    this.#refused = []
    this.#failures = 0
    this.#failingSince = undefined
    this.#isOpen = false
    this.#probes = 0
    this.#probeAt = undefined
  }

  refused(entity: string, now: Date): void {
    this.#refused = [...this.#refused, entity].slice(-attemptsLooked)
    this.#failures++
    this.#failingSince ??= now
    this.#refusedAt = now
    this.#isOpen ||= this.#refused.length === attemptsLooked && new Set(this.#refused).size >= entitiesAtLeast
    if (this.#isOpen) this.#probeAt = after(now, Math.min(firstProbeMs * 2 ** this.#probes++, longestProbeMs))
  }

  /** A probe was requested: the pause before the next one ends. */
  probeNow(): void {
    this.#probeAt = undefined
    this.#probes = 0
  }

  shouldDisable(now: Date): boolean {
    const sinceMs = this.#failingSince?.getTime() ?? now.getTime()
    return this.#failures >= disableAfterAttempts && now.getTime() - sinceMs >= disableAfterMs
  }
}

import type { Clock } from '../../src/clock.ts'

/** A clock that stands still until it is moved. */
export class TestClock implements Clock {
  #now: number

  constructor(start = new Date('2026-03-02T10:00:00Z')) {
    this.#now = start.getTime()
  }

  now(): Date {
    return new Date(this.#now)
  }

  advance(ms: number): void {
    this.#now += ms
  }
}

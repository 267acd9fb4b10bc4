/** Two clocks: one that says when it is, and one that only ever goes on, for how long something takes. */
export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number
  monotonicMs(): number
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}

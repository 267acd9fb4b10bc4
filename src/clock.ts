/** The one source of the present moment. Tests hand in a clock that they can move. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

export function after(start: Date, durationMs: number): Date {
  return new Date(start.getTime() + durationMs)
}

/** Counts in windows of one minute, aligned to the clock, in this process. Each window starts with an empty table. */
import { type Clock, minute, second } from '../clock.ts'
import { TooManyRequests } from '../problem.ts'

export interface Usage {
  readonly allowed: number
  readonly used: number
  readonly available: number
  readonly expiryMs: number
}

export interface RateLimit {
  /** False when there is no limit. */
  readonly isOn: boolean
  /** Counts one; throws when the limit is passed. */
  count(key: string): Usage
  /** True while nothing was counted: there is no need to check. */
  readonly isQuiet: boolean
  /** Throws when the limit is reached, without counting. */
  check(key: string): void
}

/** As response headers. */
export function printUsage({ allowed, used, available, expiryMs }: Usage): Record<string, string> {
  return {
    'x-ratelimit-allowed': String(allowed),
    'x-ratelimit-used': String(used),
    'x-ratelimit-available': String(available),
    'x-ratelimit-expiry': String(expiryMs),
  }
}

export function openRateLimit(clock: Clock, allowed: number, description: string): RateLimit {
  let counts = new Map<string, number>()
  let window = 0

  function current(nowMs: number): Map<string, number> {
    const now = Math.floor(nowMs / minute)
    if (now !== window) {
      window = now
      counts = new Map()
    }
    return counts
  }
  function refuse(nowMs: number): never {
    const expiryMs = (window + 1) * minute
    const headers = printUsage({ allowed, used: allowed, available: 0, expiryMs })
    throw new TooManyRequests(description, Math.ceil((expiryMs - nowMs) / second), headers)
  }

  return {
    isOn: allowed > 0,
    get isQuiet() {
      return counts.size === 0
    },
    count(key) {
      const nowMs = clock.now().getTime()
      const table = current(nowMs)
      const used = (table.get(key) ?? 0) + 1
      if (used > allowed) refuse(nowMs)
      table.set(key, used)
      return { allowed, used, available: allowed - used, expiryMs: (window + 1) * minute }
    },
    check(key) {
      if (allowed === 0) return
      const nowMs = clock.now().getTime()
      if ((current(nowMs).get(key) ?? 0) >= allowed) refuse(nowMs)
    },
  }
}

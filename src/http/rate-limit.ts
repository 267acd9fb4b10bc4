/**
 * Counts in windows of one minute, or of an hour, aligned to the clock (fixed windows), of this process or of
 * all that share its port.
 */
import { type Clock, minute, second } from '../clock.ts'
import { type Network, networksOf } from '../network/subnet.ts'
import { TooManyRequests } from '../problem.ts'
import { openTally, type Tally } from './tally.ts'

export interface Usage {
  readonly allowed: number
  readonly used: number
  readonly available: number
  readonly expiryMs: number
}

export interface RateLimit {
  /** False when there is no limit. */
  readonly isOn: boolean
  /** Counts one; throws when the limit is passed. At once where the process counts for itself. */
  count(key: string): Usage | Promise<Usage>
  /**
   * Counts one for an address and for every network that it lies in; throws when the limit of one is passed.
   */
  countFrom(address: string): Promise<void>
  /** True while nothing was counted: there is no need to check. */
  readonly isQuiet: boolean
  /** Throws when the limit is reached, without counting. */
  check(key: string): void
  checkFrom(address: string): void
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

export function openRateLimit(
  clock: Clock,
  allowed: number,
  description: string,
  tally: Tally = openTally(),
  windowMs = minute,
): RateLimit {
  function refuse(window: number, nowMs: number): never {
    const expiryMs = (window + 1) * windowMs
    const headers = printUsage({ allowed, used: allowed, available: 0, expiryMs })
    throw new TooManyRequests(description, Math.ceil((expiryMs - nowMs) / second), headers)
  }
  const now = () => {
    const nowMs = clock.now().getTime()
    return { nowMs, window: Math.floor(nowMs / windowMs) }
  }

  const checkNetwork = ({ name, times }: Network) => {
    if (allowed === 0) return
    const { nowMs, window } = now()
    if (tally.find(window, name) >= times * allowed) refuse(window, nowMs)
  }

  return {
    isOn: allowed > 0,
    get isQuiet() {
      return tally.isQuiet
    },
    count(key) {
      const { nowMs, window } = now()
      const judge = (used: number): Usage => {
        if (used > allowed) refuse(window, nowMs)
        return { allowed, used, available: allowed - used, expiryMs: (window + 1) * windowMs }
      }
      const used = tally.count(window, key, allowed)
      return typeof used === 'number' ? judge(used) : used.then(judge)
    },
    async countFrom(address) {
      const { nowMs, window } = now()
      for (const { name, times } of networksOf(address))
        if ((await tally.count(window, name, times * allowed)) > times * allowed) refuse(window, nowMs)
    },
    check: (key) => checkNetwork({ name: key, times: 1 }),
    checkFrom: (address) => networksOf(address).forEach(checkNetwork),
  }
}

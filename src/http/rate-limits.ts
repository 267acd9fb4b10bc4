/** Every limit on how often something may be done, with what one who passes it reads. */
import { type Clock, hour, minute } from '../clock.ts'
import type { Limits } from '../settings/config.ts'
import { keysOf, recordOf } from '../vocabulary/record-of.ts'
import { openRateLimit, type RateLimit } from './rate-limit.ts'
import type { Tally } from './tally.ts'

interface LimitRow {
  /** What is counted; processes that share a port count it together under this name. */
  readonly of: string
  /** In a minute, unless it says otherwise. */
  readonly most: number | ((limits: Limits) => number)
  readonly words: string
  readonly windowMs?: number
  /** What was counted elsewhere is known here too, so that it can be checked without counting. */
  readonly isTold?: true
}

const tooManyFailures =
  'There were too many failed client authentications. Check the credentials and wait a minute.'

export const rateLimits = {
  /** Failed authentications of one client from one address. */
  clientFailures: {
    of: 'client failures',
    most: ({ clientFailuresPerMinute }) => clientFailuresPerMinute,
    words: tooManyFailures,
    isTold: true,
  },
  /** Those of all clients from one address. */
  addressFailures: {
    of: 'address failures',
    most: ({ clientFailuresPerMinute }) => 10 * clientFailuresPerMinute,
    words: tooManyFailures,
  },
  /** Of one branch. */
  testHooks: {
    of: 'test hooks',
    most: ({ testHooksPerMinute }) => testHooksPerMinute,
    words: 'This branch has sent as many test events as it may in a minute. Wait for the next.',
  },
  /** Of one webhook. */
  probes: {
    of: 'probes',
    most: 6,
    words: 'This webhook was probed as often as it may be in a minute. Wait for the next.',
  },
  /** Signatures that one branch has explained. */
  signatureChecks: {
    of: 'signature checks',
    most: 20,
    words: 'As many signatures were checked as may be in a minute. Wait for the next.',
  },
  /** Assertions and proofs that one branch has explained. */
  proofChecks: {
    of: 'proof checks',
    most: 20,
    words: 'As many assertions and proofs were checked as may be in a minute. Wait for the next.',
  },
  /** Ways to a provider that one network sets out on. */
  providerSignIns: {
    of: 'provider sign-ins',
    most: 300,
    words: 'Many sign-ins were begun from this network in a minute. Wait for the next.',
  },
  /** Sign-outs in a provider's name that were refused, of one network. */
  logoutFailures: {
    of: 'logout failures',
    most: 30,
    words: 'Many sign-outs from this network were refused in a minute. Wait for the next.',
    isTold: true,
  },
  /** Links for forgotten passwords that one network asks for. */
  passwordResets: {
    of: 'password resets',
    most: 20,
    words: 'Many links were asked for from this network in a minute. Wait for the next.',
  },
  /** Of events by their names, by one branch. */
  eventSearches: {
    of: 'event searches',
    most: 120,
    words: 'This branch has looked for as many events as it may in a minute. Wait for the next.',
  },
  /** Of one person, taken or not. */
  imageUploads: {
    of: 'image uploads',
    most: 30,
    words: 'You have uploaded as many images as you may in an hour. Wait for the next.',
    windowMs: hour,
  },
} as const satisfies Record<string, LimitRow>

export type RateLimits = { readonly [Name in keyof typeof rateLimits]: RateLimit }

export function openRateLimits(
  clock: Clock,
  limits: Limits,
  openTally: (of: string, isTold: boolean) => Tally,
): RateLimits {
  const open = ({ of, most, words, windowMs = minute, isTold }: LimitRow) => {
    const allowed = typeof most === 'number' ? most : most(limits)
    return openRateLimit(clock, allowed, words, openTally(of, isTold === true), windowMs)
  }
  return recordOf(keysOf(rateLimits), (name) => open(rateLimits[name]))
}

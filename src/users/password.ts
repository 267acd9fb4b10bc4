/**
 * Human passwords: argon2id, with a bound on how many are computed at once so that a flood cannot starve the
 * rest.
 */
import { randomBytes } from 'node:crypto'
import { Invalid } from '../problem.ts'

/** Loaded by the first who signs in. */
const library = () => import('@node-rs/argon2')

const argon2id = 2
/** OWASP's floor for argon2id: 19 MiB, two passes, one lane. */
const owaspFloor = { memoryCost: 19 * 1024, timeCost: 2 }

export const passwordMinCharacters = 12
export const passwordMaxBytes = 1024
/**
 * Where the check comes from: a device that its user has signed in from, or a session; an address without
 * recent failures; an address with some. A flood of guesses fills the places of the last, and the places of
 * the others stay free.
 */
export type Trust = 'known' | 'unknown' | 'failing'

/** How many may wait, of whatever trust, when one more of this trust comes. */
const places: Readonly<Record<Trust, number>> = { known: 100, unknown: 75, failing: 50 }

/** More sign-ins are waiting than can be checked soon. */
export class TooManyPasswordChecks extends Error {
  override readonly name = 'TooManyPasswordChecks'
}

export interface Passwords {
  /** True while the next check of this trust would be sent away. */
  isCrowded(trust: Trust): boolean
  hash(password: string): Promise<string>
  /** Takes as long without a hash as with one, and is then always false. */
  verify(stored: string | undefined, password: string, trust?: Trust): Promise<boolean>
  /** Hashes made with another cost are replaced when their owner next signs in. */
  isOutdated(stored: string): boolean
}

export function openPasswords(atOnce: number, { memoryCost, timeCost } = owaspFloor): Passwords {
  const cost = { algorithm: argon2id, memoryCost, timeCost, parallelism: 1 }
  const limit = limitConcurrency(atOnce)
  let decoy: Promise<string> | undefined
  return {
    isCrowded: limit.isFull,
    hash: (password) => limit('known', async () => (await library()).hash(password, cost)),
    verify: (stored, password, trust = 'known') =>
      limit(trust, async () => {
        const { hash, verify } = await library()
        decoy ??= hash(randomBytes(32).toString('hex'), cost)
        const matches = await verify(stored ?? (await decoy), password)
        return matches && stored !== undefined
      }),
    isOutdated: (stored) => !stored.startsWith(`$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$`),
  }
}

/** Before anything is looked up or counted: a password that was not checked was not wrong. */
export function refuseCrowd(passwords: Passwords, trust: Trust): void {
  if (passwords.isCrowded(trust)) throw new TooManyPasswordChecks('Too many sign-ins at once.')
}

export function findPasswordProblem(password: string): string | undefined {
  if ([...password].length < passwordMinCharacters)
    return `must have at least ${passwordMinCharacters} characters`
  if (Buffer.byteLength(password) > passwordMaxBytes) return `must have at most ${passwordMaxBytes} bytes`
  return undefined
}

/** By the rules of the house, for a person who chooses one. */
export function hashNewPassword(passwords: Passwords, password: string): Promise<string> {
  const problem = findPasswordProblem(password)
  if (problem) throw new Invalid([{ field: 'password', problem }])
  return passwords.hash(password)
}

function limitConcurrency(atOnce: number) {
  const waiting: (() => void)[] = []
  let running = 0
  const isFull = (trust: Trust) => running >= atOnce && waiting.length >= places[trust]
  const run = async <Result>(trust: Trust, work: () => Promise<Result>): Promise<Result> => {
    if (running >= atOnce) {
      if (isFull(trust)) throw new TooManyPasswordChecks('Too many sign-ins at once.')
      await new Promise<void>((go) => waiting.push(go))
    } else {
      running++
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
  return Object.assign(run, { isFull })
}

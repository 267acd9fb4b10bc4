/**
 * Slows guessing: five failures of a user, or twenty of an address, within 15 minutes start a wait that
 * doubles with each further failure. The networks that an IPv6 address lies in count too (network/subnet.ts).
 * A device that this user has signed in from before has a bucket of its own, so that an attacker who keeps
 * failing from elsewhere cannot lock the user out.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { type Act, recordAct } from '../audit/audit.ts'
import { after, minute } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { networksOf } from '../network/subnet.ts'
import { removeOldWaits } from './locked-people.ts'
import * as table from './login-throttle.sql.ts'
import type { User } from './user.ts'

const windowMs = 15 * minute
const intervals = { window: '15 minutes', firstWait: '30 seconds', longestWait: '15 minutes' }

export interface LoginLimits {
  readonly loginFailuresPerUser: number
  readonly loginFailuresPerAddress: number
}

interface NetworkBucket {
  readonly bucket: string
  readonly limit: number
}

export interface LoginAttempt {
  readonly id: string
  readonly userBucket: string
  readonly networks: readonly NetworkBucket[]
  readonly userAllowed: boolean
  readonly addressAllowed: boolean
  readonly startsWait: boolean
  readonly retryAfterSeconds: number
}

export async function countAttempt(
  sql: Sql,
  limits: LoginLimits,
  who: { username: string; address: string; knownDevice: string | undefined },
  key: Buffer,
  now: Date,
): Promise<LoginAttempt> {
  const id = randomUUID()
  const userBucket = who.knownDevice === undefined ? bucketOf(who.username, key) : `device:${who.knownDevice}`
  // A known device has guesses of its own: what neighbours of its network do is not held against it.
  const wide = networkBuckets(limits, who.address)
  const networks = who.knownDevice === undefined ? wide : wide.slice(0, 1)
  const buckets = networks.map(({ bucket }) => bucket)
  const rows = await sql.query(table.countAttempt, {
    buckets: [userBucket, ...buckets],
    failureLimits: [limits.loginFailuresPerUser, ...networks.map(({ limit }) => limit)],
    networks: buckets,
    now,
    attempt: id,
    ...intervals,
  })
  const user = rows.find((row) => row.bucket === userBucket)
  const refusing = rows.filter((row) => row !== user && !row.allowed)
  const waitsMs = refusing.map(
    ({ blockedUntil }) => (blockedUntil?.getTime() ?? now.getTime()) - now.getTime(),
  )
  return {
    id,
    userBucket,
    networks,
    userAllowed: user?.allowed === true,
    addressAllowed: refusing.length === 0,
    startsWait: rows.some((row) => row.allowed && row.blockedUntil !== null),
    retryAfterSeconds: Math.ceil(Math.max(0, ...waitsMs) / 1000),
  }
}

function networkBuckets({ loginFailuresPerAddress: most }: LoginLimits, address: string): NetworkBucket[] {
  return networksOf(address).map(({ name, times }) => ({ bucket: `address:${name}`, limit: times * most }))
}

/** Whether a sign-in has failed within the window, from the address or from a network that it lies in. */
export async function hasFailures(
  sql: Sql,
  limits: LoginLimits,
  address: string,
  now: Date,
): Promise<boolean> {
  const buckets = networkBuckets(limits, address).map(({ bucket }) => bucket)
  return (await sql.query(table.selectBuckets, { buckets, since: after(now, -windowMs) })).length > 0
}

/** A success clears the user's own bucket and takes its attempt off the address and its networks. */
export async function forgive(sql: Sql, { userBucket, networks }: LoginAttempt): Promise<void> {
  const [buckets, limits] = [networks.map(({ bucket }) => bucket), networks.map(({ limit }) => limit)]
  await sql.query(table.forgiveAttempt, { userBucket, buckets, failureLimits: limits })
}

function bucketOf(username: string, key: Buffer): string {
  return `user:${createHmac('sha256', key).update(username).digest('hex')}`
}

/** What the second step counts its failures under. No username has a line break. */
export function secondStepName(user: User): string {
  return `second\n${user.id}`
}

function bucketsOf(user: User, key: Buffer): string[] {
  return [user.username, secondStepName(user)].map((name) => bucketOf(name, key))
}

/** Failures from devices that the user has not signed in from before; known devices count for themselves. */
export interface LoginFailures {
  readonly failures: number
  readonly blockedUntil: Date | undefined
}

export async function findLoginFailures(
  sql: Sql,
  user: User,
  key: Buffer,
  now: Date,
): Promise<LoginFailures> {
  const rows = await sql.query(table.selectBuckets, {
    buckets: bucketsOf(user, key),
    since: after(now, -windowMs),
  })
  const waits = rows.flatMap(({ blockedUntil }) => (blockedUntil && blockedUntil > now ? [blockedUntil] : []))
  return {
    failures: rows.reduce((sum, row) => sum + row.failures, 0),
    blockedUntil: waits.toSorted((one, other) => one.getTime() - other.getTime()).at(-1),
  }
}

/** For a user who is kept waiting by a stranger's guesses, or by their own. */
export async function liftLoginWait(db: Sql, user: User, key: Buffer, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const lifted = await sql.query(table.deleteBuckets, { buckets: bucketsOf(user, key) })
    if (lifted.length > 0) await recordAct(sql, act, 'session.wait_lifted', `user:${user.id}`)
  })
}

export async function removeOldBuckets(sql: Sql, now: Date): Promise<number> {
  await removeOldWaits(sql, now)
  return (await sql.query(table.deleteOldBuckets, { until: after(now, -windowMs) })).length
}

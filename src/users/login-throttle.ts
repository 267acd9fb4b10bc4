/**
 * Slows guessing: five failures of a user, or twenty of an address, within 15 minutes start a wait that doubles with
 * each further failure. A device that this user has signed in from before has a bucket of its own, so that an
 * attacker who keeps failing from elsewhere cannot lock the user out.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { type Act, recordAct } from '../audit/audit.ts'
import { after, minute } from '../clock.ts'
import type { Database, Sql } from '../database/database.ts'
import { subnetOf } from '../subnet.ts'
import { removeOldWaits } from './locked-people.ts'
import * as table from './login-throttle.sql.ts'
import type { User } from './user.ts'

const windowMs = 15 * minute
const intervals = { window: '15 minutes', firstWait: '30 seconds', longestWait: '15 minutes' }

export interface LoginLimits {
  readonly loginFailuresPerUser: number
  readonly loginFailuresPerAddress: number
}

export interface LoginAttempt {
  readonly id: string
  readonly userBucket: string
  readonly addressBucket: string
  readonly userAllowed: boolean
  readonly addressAllowed: boolean
  readonly startsWait: boolean
  readonly retryAfterSeconds: number
}

interface BucketRow {
  readonly bucket: string
  readonly allowed: boolean
  readonly blockedUntil: Date | null
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
  const addressBucket = `address:${subnetOf(who.address)}`
  const { window, firstWait, longestWait } = intervals
  const rows = await sql.query<BucketRow>(table.countAttempt, [
    [userBucket, addressBucket],
    [limits.loginFailuresPerUser, limits.loginFailuresPerAddress],
    ...[now, id, window, firstWait, longestWait],
  ])
  const user = rows.find((row) => row.bucket === userBucket)!
  const address = rows.find((row) => row.bucket === addressBucket)!
  const waitMs = (address.blockedUntil?.getTime() ?? now.getTime()) - now.getTime()
  return {
    id,
    userBucket,
    addressBucket,
    userAllowed: user.allowed,
    addressAllowed: address.allowed,
    startsWait: rows.some((row) => row.allowed && row.blockedUntil !== null),
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  }
}

/** A success clears the user's own bucket and takes its attempt off the address. */
export async function forgive(sql: Sql, limits: LoginLimits, attempt: LoginAttempt): Promise<void> {
  const { userBucket, addressBucket } = attempt
  await sql.query(table.forgiveAttempt, [userBucket, addressBucket, limits.loginFailuresPerAddress])
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

export async function findLoginFailures(sql: Sql, user: User, key: Buffer, now: Date): Promise<LoginFailures> {
  const rows = await sql.query<{ failures: number; blockedUntil: Date | null }>(table.selectBuckets, [
    bucketsOf(user, key),
    after(now, -windowMs),
  ])
  const waits = rows.flatMap(({ blockedUntil }) => (blockedUntil && blockedUntil > now ? [blockedUntil] : []))
  return {
    failures: rows.reduce((sum, row) => sum + row.failures, 0),
    blockedUntil: waits.toSorted((one, other) => one.getTime() - other.getTime()).at(-1),
  }
}

/** For a user who is kept waiting by somebody else's guesses, or by their own. */
export async function liftLoginWait(db: Database, user: User, key: Buffer, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const lifted = await sql.query(table.deleteBuckets, [bucketsOf(user, key)])
    if (lifted.length > 0) await recordAct(sql, act, 'session.wait_lifted', `user:${user.id}`)
  })
}

export async function removeOldBuckets(sql: Sql, now: Date): Promise<number> {
  await removeOldWaits(sql, now)
  return (await sql.query(table.deleteOldBuckets, [after(now, -windowMs)])).length
}

/**
 * Codes of an authenticator app (RFC 6238): six digits, a new one every 30 seconds; the one before and the
 * one after count too, because clocks differ. A code counts once, and never after a newer one was used.
 */
import { Secret, TOTP } from 'otpauth'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { SealedRow, SealedTable } from '../database/reseal.ts'
import * as table from './totp-factors.sql.ts'
import type { User } from './user.ts'

const stepSeconds = 30
const secretBytes = 20
/**
 * In a row. Of a million codes three count at a time: so many guesses find one of them with a chance of 1 in
 * 3,000.
 */
const wrongCodesThatLock = 100

interface TotpRow extends SealedRow {
  readonly userId: string
}

export interface TotpFactor {
  readonly id: number
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  /** After so many wrong codes in a row that a person must have been guessing. */
  readonly lockedAt: Date | null
}

/** Binds a sealed secret to its user: moved to another row, it does not open. */
const purposeOf = (userId: string) => `totp:${userId}`

export function makeTotpSecret(): string {
  return new Secret({ size: secretBytes }).base32
}

/** What the app reads from the picture. */
export function printTotpUri(secret: string, user: User, issuer: string): string {
  return totpOf(secret, user.username, issuer).toString()
}

/** The step that a code belongs to; undefined for a wrong one. */
export function findStep(secret: string, code: string, now: Date): number | undefined {
  const token = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const timestamp = now.getTime()
  const delta = totpOf(secret).validate({ token, timestamp, window: 1 })
  return delta === null ? undefined : Math.floor(timestamp / 1000 / stepSeconds) + delta
}

/** False when the user has an app already. The code that proved it is used up with it. */
export async function addTotp(
  sql: Sql,
  vault: Vault,
  userId: string,
  { secret, step }: { secret: string; step: number },
  now: Date,
): Promise<boolean> {
  const sealed = vault.seal(purposeOf(userId), secret)
  return (await sql.query(table.insertTotp, { userId, sealed, lastStep: step, createdAt: now })).length > 0
}

export async function findTotp(sql: Sql, userId: string): Promise<TotpFactor | undefined> {
  const [found] = await sql.query(table.selectTotp, { userId })
  return found
}

export async function useTotpCode(
  sql: Sql,
  vault: Vault,
  userId: string,
  code: string,
  now: Date,
): Promise<boolean> {
  const [row] = await sql.query(table.selectTotp, { userId })
  const secret = row && vault.open(purposeOf(userId), row.sealed)
  const step = secret === undefined ? undefined : findStep(secret, code, now)
  if (!row || step === undefined) return false
  return (await sql.query(table.useStep, { id: row.id, lastStep: step, lastUsedAt: now })).length > 0
}

/** True when this wrong code locks the app. */
export async function countWrongCode(sql: Sql, userId: string, now: Date): Promise<boolean> {
  const [counted] = await sql.query(table.countWrongCode, { userId, wrongCodesThatLock, now })
  return counted !== undefined && counted.lockedAt !== null
}

/** After a proof that was right; a recovery code unlocks. */
export async function forgiveWrongCodes(sql: Sql, userId: string, unlocks: boolean): Promise<void> {
  await sql.query(table.forgiveWrongCodes, { userId, unlocks })
}

export async function removeTotp(sql: Sql, userId: string): Promise<boolean> {
  return (await sql.query(table.deleteTotp, { userId })).length > 0
}

export const sealedTotpSecrets: SealedTable<TotpRow> = {
  select: table.selectSealed,
  read: table.readSealed,
  update: table.updateSealed,
  purposeOf: (row) => purposeOf(row.userId),
}

function totpOf(secret: string, label = '', issuer = ''): TOTP {
  return new TOTP({ secret: Secret.fromBase32(secret), label, issuer, digits: 6, period: stepSeconds })
}

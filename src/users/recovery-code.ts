/** Recovery codes: ten, shown once, each good for one sign-in when nothing else is at hand. */
import { randomInt } from 'node:crypto'
import { sha256 } from '../crypto/hash.ts'
import type { Sql } from '../database/database.ts'
import * as table from './recovery-codes.sql.ts'

const codesAtOnce = 10
/** No letter or digit that is easily taken for another. 16 of them hold 79 bits: a hash needs no key. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const codeLetters = 16

/** In place of all that there were. */
export async function makeRecoveryCodes(sql: Sql, userId: string, now: Date): Promise<string[]> {
  const codes = Array.from({ length: codesAtOnce }, makeCode)
  await sql.query(table.deleteCodes, { userId })
  await sql.query(table.insertCodes, {
    userId,
    hashes: codes.map((code) => hashOf(userId, code)),
    createdAt: now,
  })
  return codes
}

export async function useRecoveryCode(sql: Sql, userId: string, typed: string, now: Date): Promise<boolean> {
  return (await sql.query(table.useCode, { userId, hash: hashOf(userId, typed), usedAt: now })).length > 0
}

export async function countRecoveryCodes(sql: Sql, userId: string): Promise<number> {
  return (await sql.one(table.countCodes, { userId })).left
}

export async function removeRecoveryCodes(sql: Sql, userId: string): Promise<void> {
  await sql.query(table.deleteCodes, { userId })
}

function makeCode(): string {
  const letters = Array.from({ length: codeLetters }, () => alphabet[randomInt(alphabet.length)]).join('')
  return letters.replaceAll(/.{4}(?=.)/g, '$&-')
}

/** However it was typed: hyphens, spaces and capitals make no difference. */
function hashOf(userId: string, code: string): Buffer {
  return sha256(`${userId} ${code.toLowerCase().replaceAll(/[^a-z0-9]/g, '')}`)
}

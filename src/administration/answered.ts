/**
 * What a POST with an `Idempotency-Key` was answered: for a day the same is answered the same, and made once.
 * The answer may hold a secret, and what was asked too: both are sealed together.
 */
import { after, day } from '../clock.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { SealedRow, SealedTable } from '../database/reseal.ts'
import { Conflict } from '../problem.ts'
import * as table from './answered.sql.ts'

const keptMs = day

interface OnceKey {
  readonly credentialId: number
  /** As the caller chose it. */
  readonly key: string
}

interface OnceRequest extends OnceKey {
  /** All that the caller asks for. */
  readonly asked: object
}

interface KeptAnswer<Answer> {
  readonly asked: string
  readonly answer: Answer
}

const purposeOf = ({ credentialId, key }: OnceKey) => `admin-answer:${credentialId}:${key}`

/** In the transaction that it is handed. */
export async function answerOnce<Answer extends object>(
  sql: Sql,
  vault: Vault,
  { credentialId, key, asked: request }: OnceRequest,
  now: Date,
  make: () => Promise<Answer>,
): Promise<Answer> {
  const asked = sha256(JSON.stringify(request)).toString('base64url')
  const purpose = purposeOf({ credentialId, key })
  await sql.query(table.lockKey, { credentialId, key })
  const [found] = await sql.query(table.selectAnswer, { credentialId, key, since: after(now, -keptMs) })
  if (found) {
    const opened = vault.open(purpose, found.sealed)
    if (opened === undefined) throw new Error('An answer cannot be opened.')
    const kept = JSON.parse(opened) as KeptAnswer<Answer>
    if (kept.asked === asked) return kept.answer
    throw new Conflict('This Idempotency-Key was sent with another request. Send another key with this one.')
  }
  const answer = await make()
  const kept: KeptAnswer<Answer> = { asked, answer }
  const sealed = vault.seal(purpose, JSON.stringify(kept))
  await sql.query(table.upsertAnswer, { credentialId, key, sealed, answeredAt: now })
  return answer
}

export function removeOldAdminAnswers(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldAnswers, { before: after(now, -keptMs), most })
}

export const sealedAdminAnswers: SealedTable<SealedRow & OnceKey> = {
  select: table.selectSealed,
  read: table.readSealed,
  update: table.updateSealed,
  purposeOf,
}

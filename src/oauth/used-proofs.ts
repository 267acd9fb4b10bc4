/**
 * Which assertions and proofs were taken where tokens and requests are made: by any node, before and after a
 * restart. What is taken is written down before anything comes of it.
 */
import { type Batch, openBatch } from '../database/batch.ts'
import type { Sql } from '../database/database.ts'
import type { ProofUse } from './proof.ts'
import * as table from './used-proofs.sql.ts'

export interface UsedProofs {
  /** False for one that was taken before. */
  take(use: ProofUse): Promise<boolean>
}

export function openUsedProofs(db: Sql): UsedProofs {
  const batch: Batch<ProofUse, boolean> = openBatch(
    async (uses) => {
      const taken = await db.query(table.insertUsedProofs, {
        hashes: uses.map(({ hash }) => Buffer.from(hash, 'latin1')),
        expiresAt: uses.map(({ expiresAt }) => expiresAt),
      })
      const hashes = new Set(taken.map(({ hash }) => hash.toString('latin1')))
      return uses.map(({ hash }) => hashes.has(hash))
    },
    { keyOf: ({ hash }) => hash },
  )
  return { take: (use) => batch.run(use) }
}

/** Looked at, and nothing more. */
export async function wasUsed(sql: Sql, { hash }: ProofUse): Promise<boolean> {
  return (await sql.query(table.selectUsedProof, { hash: Buffer.from(hash, 'latin1') })).length > 0
}

export function removeOldProofs(sql: Sql, now: Date, most: number) {
  return sql.query(table.deleteOldProofs, { now, most })
}

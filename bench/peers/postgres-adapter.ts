/** oidc-provider's storage on PostgreSQL: a table a model, named statements, one round trip an operation. */

import type { Adapter, AdapterFactory, Payload } from 'oidc-provider'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { ask } from '../../test/support/ask.ts'

const models = ['Grant', 'AuthorizationCode', 'AccessToken', 'RefreshToken']

export async function openPostgresAdapter(connectionString: string): Promise<AdapterFactory> {
  const db = openDatabase({ connectionString })
  for (const model of models) await db.script(createTable(tableOf(model)))
  return (model) => adapterOver(db, tableOf(model))
}

function tableOf(model: string): string {
  return `oidc_${model.toLowerCase()}`
}

function createTable(table: string): string {
  return `
    CREATE TABLE ${table} (
      id text PRIMARY KEY, payload json NOT NULL, grant_id text, expires_at timestamptz NOT NULL, consumed_at timestamptz);
    CREATE INDEX ${table}_of_grant ON ${table} (grant_id) WHERE grant_id IS NOT NULL`
}

function adapterOver(db: Database, table: string): Adapter {
  const upsert = `INSERT INTO ${table} (id, payload, grant_id, expires_at)
      VALUES ($1, $2, $3, now() + make_interval(secs => $4))
     ON CONFLICT (id) DO UPDATE SET
       payload = excluded.payload, grant_id = excluded.grant_id, expires_at = excluded.expires_at`
  const find = `SELECT payload, consumed_at FROM ${table} WHERE id = $1 AND expires_at > now()`
  const consume = `UPDATE ${table} SET consumed_at = now() WHERE id = $1`
  const destroy = `DELETE FROM ${table} WHERE id = $1`
  const revoke = `DELETE FROM ${table} WHERE grant_id = $1`
  return {
    async upsert(id, payload, expiresInS) {
      await ask(db, upsert, [id, payload, payload.grantId, expiresInS])
    },
    async find(id) {
      const [row] = await ask<{ payload: Payload; consumed_at: Date | null }>(db, find, [id])
      if (!row) return undefined
      return row.consumed_at ? { ...row.payload, consumed: row.consumed_at.getTime() / 1000 } : row.payload
    },
    async consume(id) {
      await ask(db, consume, [id])
    },
    async destroy(id) {
      await ask(db, destroy, [id])
    },
    async revokeByGrantId(grantId) {
      await ask(db, revoke, [grantId])
    },
  }
}

/**
 * RFC 7009: a client gives up a token. Unknown tokens and other clients' tokens change nothing and are not
 * told apart.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { parseToken, type Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import type { Registration } from '../partners/client.ts'
import { revokeAccessToken, revokeByRefreshToken } from './access-tokens.sql.ts'
import { revokeClientToken } from './client-tokens.sql.ts'

const revocable = { access: revokeAccessToken, refresh: revokeByRefreshToken }

export async function revokeToken(db: Sql, client: Registration, presented: string, act: Act): Promise<void> {
  const token = parseToken(presented)
  if (token?.kind === 'client') return revokeOwn(db, client, token, act)
  if (token?.kind !== 'access' && token?.kind !== 'refresh') return
  const revoke = revocable[token.kind]
  await db.transaction(async (sql) => {
    const [row] = await sql.query(revoke, { hash: token.hash, clientId: client.id, at: act.at })
    if (row)
      await recordAct(sql, act, 'token.revoked', `user:${row.userId}`, { kind: token.kind, id: row.id })
  })
}

async function revokeOwn(db: Sql, client: Registration, { hash }: Token, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [row] = await sql.query(revokeClientToken, { hash, clientId: client.id, at: act.at })
    if (row) await recordAct(sql, act, 'token.revoked', `client:${client.id}`, { kind: 'client', id: row.id })
  })
}

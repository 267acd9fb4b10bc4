import { bytes, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import { scopes } from '../vocabulary/scope.ts'

const columns = `id, user_id AS "userId", environment, name, scopes, hint, created_at AS "createdAt",
  expires_at AS "expiresAt", last_used_at AS "lastUsedAt", revoked_at AS "revokedAt"`

const row = {
  id: int,
  userId: text,
  environment: oneOf(...environments),
  name: text,
  scopes: list(oneOf(...scopes)),
  hint: text,
  createdAt: instant,
  expiresAt: orNull(instant),
  lastUsedAt: orNull(instant),
  revokedAt: orNull(instant),
}

export const insertApiToken = statement({
  name: 'insert_api_token',
  takes: {
    userId: text,
    environment: text,
    name: text,
    scopes: list(text),
    hash: bytes,
    hint: text,
    createdAt: instant,
    expiresAt: orNull(instant),
  },
  gives: row,
  text: `INSERT INTO api_tokens (user_id, environment, name, scopes, hash, hint, created_at, expires_at)
   VALUES (:userId, :environment, :name, :scopes, :hash, :hint, :createdAt, :expiresAt)
   RETURNING ${columns}`,
})

export const selectApiTokens = statement({
  name: 'select_api_tokens',
  takes: { userId: text },
  gives: row,
  text: `SELECT ${columns} FROM api_tokens
   WHERE user_id = :userId AND revoked_at IS NULL ORDER BY created_at DESC, id DESC`,
})

export const countApiTokens = statement({
  name: 'count_api_tokens',
  takes: { userId: text, now: instant },
  gives: { living: int },
  text: `SELECT count(*) AS living FROM api_tokens
   WHERE user_id = :userId AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)`,
})

export const revokeApiToken = statement({
  name: 'revoke_api_token',
  takes: { id: int, revokedAt: instant, ownerId: orNull(text) },
  gives: { userId: text },
  text: `UPDATE api_tokens SET revoked_at = :revokedAt
   WHERE id = :id AND (:ownerId::text IS NULL OR user_id = :ownerId) AND revoked_at IS NULL
   RETURNING user_id AS "userId"`,
})

export const selectApiTokenId = statement({
  name: 'select_api_token_id',
  takes: { hash: bytes },
  gives: { id: int },
  text: 'SELECT id FROM api_tokens WHERE hash = :hash',
})

/** Whether it has ended is for the reader to say. With the open accounts in which its user may do all that the token may. */
export const selectApiTokenByHash = statement({
  name: 'select_api_token_by_hash',
  takes: { hash: bytes },
  gives: {
    id: int,
    userId: text,
    scopes: list(oneOf(...scopes)),
    expiresAt: orNull(instant),
    revokedAt: orNull(instant),
    username: text,
    customer: orNull(text),
    status: oneOf('active', 'disabled'),
    accountNumbers: list(text),
  },
  text: `SELECT t.id, t.user_id AS "userId", t.scopes, t.expires_at AS "expiresAt", t.revoked_at AS "revokedAt", u.username,
          u.external_id AS customer, u.status,
          ARRAY(SELECT account_number FROM holdings h JOIN accounts a USING (account_number)
                WHERE h.user_id = t.user_id AND h.status = 'active' AND h.scopes @> t.scopes
                  AND a.environment = t.environment AND a.status = 'active' AND a.removed_at IS NULL
                    ORDER BY account_number) AS "accountNumbers"
   FROM api_tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = :hash`,
})

export const touchApiTokens = statement({
  name: 'touch_api_tokens',
  takes: { ids: list(int), ats: list(instant) },
  text: `UPDATE api_tokens t SET last_used_at = used.at
    FROM unnest(:ids::bigint[], :ats::timestamptz[]) AS used (id, at)
   WHERE t.id = used.id AND (t.last_used_at IS NULL OR t.last_used_at < used.at)`,
})

/** Two tokens of one user are made one after the other, so that neither misses the other in the count. */
export const lockUser = statement({
  name: 'lock_user_for_token',
  takes: { id: text },
  gives: { id: text },
  text: 'SELECT id FROM users WHERE id = :id FOR UPDATE',
})

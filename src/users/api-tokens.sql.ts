import { statement } from '../database/database.ts'

const columns = `id, user_id AS "userId", environment, name, hint, created_at AS "createdAt", last_used_at AS "lastUsedAt",
   revoked_at AS "revokedAt"`

export const insertApiToken = statement(
  'insert_api_token',
  `INSERT INTO api_tokens (user_id, environment, name, hash, hint, created_at) VALUES ($1, $2, $3, $4, $5, $6)
   RETURNING ${columns}`,
)

export const selectApiTokens = statement(
  'select_api_tokens',
  `SELECT ${columns} FROM api_tokens
   WHERE user_id = $1 AND revoked_at IS NULL ORDER BY created_at DESC, id DESC`,
)

export const countApiTokens = statement(
  'count_api_tokens',
  'SELECT count(*) AS living FROM api_tokens WHERE user_id = $1 AND revoked_at IS NULL',
)

export const revokeApiToken = statement(
  'revoke_api_token',
  'UPDATE api_tokens SET revoked_at = $2 WHERE id = $1 AND ($3::text IS NULL OR user_id = $3) AND revoked_at IS NULL RETURNING user_id AS "userId"',
)

export const selectApiTokenId = statement('select_api_token_id', 'SELECT id FROM api_tokens WHERE hash = $1')

/** With the open accounts in which its user may do all of $2, the scopes of the token. */
export const selectApiTokenByHash = statement(
  'select_api_token_by_hash',
  `SELECT t.id, t.user_id AS "userId", t.revoked_at AS "revokedAt", u.username, u.status,
          ARRAY(SELECT account_number FROM holdings h JOIN accounts a USING (account_number)
                WHERE h.user_id = t.user_id AND h.status = 'active' AND h.scopes @> $2::text[]
                  AND a.environment = t.environment AND a.status = 'active' AND a.removed_at IS NULL ORDER BY account_number) AS "accountNumbers"
   FROM api_tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = $1`,
)

export const touchApiTokens = statement(
  'touch_api_tokens',
  `UPDATE api_tokens t SET last_used_at = used.at FROM unnest($1::bigint[], $2::timestamptz[]) AS used (id, at)
   WHERE t.id = used.id AND (t.last_used_at IS NULL OR t.last_used_at < used.at)`,
)

/** Two tokens of one user are made one after the other, so that neither misses the other in the count. */
export const lockUser = statement('lock_user_for_token', 'SELECT id FROM users WHERE id = $1 FOR UPDATE')

import { bytes, instant, int, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'
import { staffRoles } from '../vocabulary/permission.ts'

const columns = `c.id, c.user_id AS "userId", c.name, c.environment, c.role, c.readers, c.hint,
  c.created_at AS "createdAt", c.expires_at AS "expiresAt", c.last_used_at AS "lastUsedAt",
  c.revoked_at AS "revokedAt"`

const row = {
  id: int,
  userId: text,
  name: text,
  environment: oneOf(...environments),
  role: oneOf(...staffRoles),
  readers: list(text),
  hint: text,
  createdAt: instant,
  expiresAt: instant,
  lastUsedAt: orNull(instant),
  revokedAt: orNull(instant),
}

export const insertCredential = statement({
  name: 'insert_admin_credential',
  takes: {
    userId: text,
    name: text,
    environment: text,
    role: text,
    readers: list(text),
    hash: bytes,
    hint: text,
    createdAt: instant,
    expiresAt: instant,
  },
  gives: row,
  text: `INSERT INTO admin_credentials AS c (user_id, name, environment, role, readers, hash, hint, created_at,
     expires_at)
   VALUES (:userId, :name, :environment, :role, :readers, :hash, :hint, :createdAt, :expiresAt)
   RETURNING ${columns}`,
})

/** Newest first, those that have ended too. */
export const selectCredentials = statement({
  name: 'select_admin_credentials',
  takes: { most: int },
  gives: { ...row, userName: text },
  text: `SELECT ${columns}, u.name AS "userName" FROM admin_credentials c JOIN users u ON u.id = c.user_id
   ORDER BY c.id DESC LIMIT :most`,
})

const living = 'c.revoked_at IS NULL AND c.expires_at > :now'

export const selectByHash = statement({
  name: 'select_admin_credential_by_hash',
  takes: { hash: bytes, now: instant },
  gives: row,
  text: `SELECT ${columns} FROM admin_credentials c WHERE c.hash = :hash AND ${living}`,
})

export const selectById = statement({
  name: 'select_admin_credential',
  takes: { id: int, now: instant },
  gives: row,
  text: `SELECT ${columns} FROM admin_credentials c WHERE c.id = :id AND ${living}`,
})

export const revokeCredential = statement({
  name: 'revoke_admin_credential',
  takes: { id: int, revokedAt: instant },
  gives: { id: int },
  text: `UPDATE admin_credentials SET revoked_at = :revokedAt WHERE id = :id AND revoked_at IS NULL
   RETURNING id`,
})

/** Once a minute is enough for people who decide whether to keep it. */
export const touchCredential = statement({
  name: 'touch_admin_credential',
  takes: { id: int, usedAt: instant },
  text: `UPDATE admin_credentials SET last_used_at = :usedAt
   WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :usedAt::timestamptz - interval '1 minute')`,
})

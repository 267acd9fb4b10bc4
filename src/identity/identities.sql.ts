import { statement } from '../database/database.ts'
import { userColumns } from '../users/users.sql.ts'

/** Staff are operators and nobody else is: a provider of one kind finds nobody of the other. */
const ofKind = `u.role = CASE $1 WHEN 'staff' THEN 'operator' ELSE 'holder' END`

const columns = userColumns.replaceAll(/(^|, )(\w+)/g, '$1u.$2')

/** Whoever removes it, or a link, waits for the sign-ins that go on, and ends what they opened. */
export const holdProvider = statement(
  'hold_identity_provider',
  'SELECT id FROM identity_providers WHERE id = $1 AND enabled_at IS NOT NULL FOR KEY SHARE',
)

export const selectLinked = statement(
  'select_linked_user',
  `SELECT ${columns}, u.password_hash AS "passwordHash", u.source, u.external_id AS "externalId", ${ofKind} AS "isOfKind"
   FROM identities i JOIN users u ON u.id = i.user_id WHERE i.issuer = $2 AND i.subject = $3 FOR KEY SHARE OF i`,
)

export const holdLinked = statement(
  'hold_linked_identity',
  `SELECT i.user_id AS "userId" FROM identity_providers p JOIN identities i ON i.provider_id = p.id
   WHERE p.id = $1 AND i.subject = $2 AND i.user_id = $3 FOR KEY SHARE`,
)

export const selectByExternalId = statement(
  'select_user_by_external_id',
  `SELECT ${columns}, u.password_hash AS "passwordHash", u.source, u.external_id AS "externalId", ${ofKind} AS "isOfKind"
   FROM users u WHERE u.source = $2 AND u.external_id = $3 AND u.removed_at IS NULL`,
)

/** Of two first sign-ins at once, one links. Nobody is linked to somebody of the other kind, nor to two subjects of an issuer. */
export const insertIdentity = statement(
  'insert_identity',
  `INSERT INTO identities (issuer, subject, user_id, provider_id, linked_at)
   SELECT p.issuer, $2, u.id, p.id, $4 FROM identity_providers p, users u
   WHERE p.id = $1 AND u.id = $3 AND u.role = CASE p.kind WHEN 'staff' THEN 'operator' ELSE 'holder' END
   ON CONFLICT DO NOTHING RETURNING user_id AS "userId"`,
)

export const selectOtherSubject = statement(
  'select_other_subject',
  'SELECT subject FROM identities WHERE user_id = $1 AND issuer = $2 AND subject <> $3',
)

export const deleteIdentity = statement(
  'delete_identity',
  'DELETE FROM identities WHERE issuer = $1 AND subject = $2 RETURNING user_id AS "userId"',
)

export const deleteSessionsOfSubject = statement(
  'delete_sessions_of_subject',
  'DELETE FROM sessions WHERE provider_id = $1 AND provider_subject = $2 RETURNING user_id AS "userId"',
)

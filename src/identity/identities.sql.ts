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
  `SELECT i.user_id AS "userId" FROM identity_providers p JOIN identities i ON i.issuer = p.issuer
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
  `INSERT INTO identities (issuer, subject, user_id, linked_at)
   SELECT p.issuer, $2, u.id, $4 FROM identity_providers p, users u
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

export const selectAnyIdentity = statement(
  'select_any_identity',
  'SELECT subject FROM identities WHERE issuer = $1 LIMIT 1',
)

/** The same people, under another address of their provider. */
export const moveIdentities = statement('move_identities', 'UPDATE identities SET issuer = $2 WHERE issuer = $1')

/** A second factor that was given there is remembered, also when the next sign-in asks for none. */
export const markSeen = statement(
  'mark_identity_seen',
  'UPDATE identities SET seen_at = $3, factor_at = coalesce($4, factor_at) WHERE issuer = $1 AND subject = $2',
)

/** Of those who came last, since $2: how many gave a second factor there. */
export const countFactors = statement(
  '',
  `SELECT count(*) AS people, count(*) FILTER (WHERE factor_at > $2) AS strong
   FROM (SELECT factor_at FROM identities WHERE issuer = $1 AND seen_at > $2 ORDER BY seen_at DESC LIMIT $3) lately`,
)

/** Whom the end of a provider touches, $2 at most: those who have no password, nor another provider that is enabled and knows them, are stranded. */
export const countTouched = statement(
  'count_touched_by_provider',
  `SELECT count(*) AS people, count(*) FILTER (WHERE has_no_password AND NOT EXISTS (
       SELECT FROM identities o JOIN identity_providers q ON q.issuer = o.issuer AND q.enabled_at IS NOT NULL
       WHERE o.user_id = linked.user_id AND o.issuer <> $1)) AS stranded
   FROM (SELECT i.user_id, u.password_hash IS NULL AS has_no_password
     FROM identities i JOIN users u ON u.id = i.user_id AND u.status = 'active' WHERE i.issuer = $1 LIMIT $2) linked`,
)

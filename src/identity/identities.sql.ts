import { bool, instant, int, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { userColumns, userRow } from '../users/users.sql.ts'

/** Staff are operators, and all operators are staff: a provider of one kind finds no user of the other. */
const ofKind = `u.role = CASE :kind WHEN 'staff' THEN 'operator' ELSE 'holder' END`

const columns = userColumns.replaceAll(/(^|, )(\w+)/g, '$1u.$2')

/** A transaction that removes it, or a link, waits for the sign-ins that go on, and ends what they opened. */
export const holdProvider = statement({
  name: 'hold_identity_provider',
  takes: { id: int },
  gives: { id: int },
  text: 'SELECT id FROM identity_providers WHERE id = :id AND enabled_at IS NOT NULL FOR KEY SHARE',
})

const row = {
  ...userRow,
  passwordHash: orNull(text),
  source: orNull(text),
  externalId: orNull(text),
  isOfKind: bool,
}

export const selectLinked = statement({
  name: 'select_linked_user',
  takes: { kind: text, issuer: text, subject: text },
  gives: row,
  text: `SELECT ${columns}, u.password_hash AS "passwordHash", u.source, u.external_id AS "externalId",
    ${ofKind} AS "isOfKind"
   FROM identities i JOIN users u ON u.id = i.user_id
     WHERE i.issuer = :issuer AND i.subject = :subject FOR KEY SHARE OF i`,
})

export const holdLinked = statement({
  name: 'hold_linked_identity',
  takes: { providerId: int, subject: text, userId: text },
  gives: { userId: text },
  text: `SELECT i.user_id AS "userId" FROM identity_providers p JOIN identities i ON i.issuer = p.issuer
   WHERE p.id = :providerId AND i.subject = :subject AND i.user_id = :userId FOR KEY SHARE`,
})

export const selectByExternalId = statement({
  name: 'select_user_by_external_id',
  takes: { kind: text, source: text, externalId: text },
  gives: row,
  text: `SELECT ${columns}, u.password_hash AS "passwordHash", u.source, u.external_id AS "externalId",
    ${ofKind} AS "isOfKind"
   FROM users u WHERE u.source = :source AND u.external_id = :externalId AND u.removed_at IS NULL`,
})

/**
 * Of two first sign-ins at once, one links. No subject is linked to a user of the other kind, and no user to
 * two subjects of an issuer.
 */
export const insertIdentity = statement({
  name: 'insert_identity',
  takes: { providerId: int, subject: text, userId: text, linkedAt: instant },
  gives: { userId: text },
  text: `INSERT INTO identities (issuer, subject, user_id, linked_at)
   SELECT p.issuer, :subject, u.id, :linkedAt FROM identity_providers p, users u
   WHERE p.id = :providerId AND u.id = :userId
     AND u.role = CASE p.kind WHEN 'staff' THEN 'operator' ELSE 'holder' END
   ON CONFLICT DO NOTHING RETURNING user_id AS "userId"`,
})

export const selectOtherSubject = statement({
  name: 'select_other_subject',
  takes: { userId: text, issuer: text, subject: text },
  gives: { subject: text },
  text: 'SELECT subject FROM identities WHERE user_id = :userId AND issuer = :issuer AND subject <> :subject',
})

export const deleteIdentity = statement({
  name: 'delete_identity',
  takes: { issuer: text, subject: text },
  gives: { userId: text },
  text: 'DELETE FROM identities WHERE issuer = :issuer AND subject = :subject RETURNING user_id AS "userId"',
})

export const deleteSessionsOfSubject = statement({
  name: 'delete_sessions_of_subject',
  takes: { providerId: int, subject: text },
  text: `DELETE FROM sessions WHERE provider_id = :providerId AND provider_subject = :subject
   RETURNING user_id AS "userId"`,
})

export const selectAnyIdentity = statement({
  name: 'select_any_identity',
  takes: { issuer: text },
  gives: { subject: text },
  text: 'SELECT subject FROM identities WHERE issuer = :issuer LIMIT 1',
})

/** The same people, under another address of their provider. */
export const moveIdentities = statement({
  name: 'move_identities',
  takes: { from: text, to: text },
  text: 'UPDATE identities SET issuer = :to WHERE issuer = :from',
})

/** A second factor that was given there is remembered, also when the next sign-in asks for none. */
export const markSeen = statement({
  name: 'mark_identity_seen',
  takes: { issuer: text, subject: text, seenAt: instant, factorAt: orNull(instant) },
  text: `UPDATE identities SET seen_at = :seenAt, factor_at = coalesce(:factorAt, factor_at)
    WHERE issuer = :issuer AND subject = :subject`,
})

/** Of the users who signed in last, since then: how many gave a second factor at the provider. */
export const countFactors = statement({
  name: '',
  takes: { issuer: text, since: instant, most: int },
  gives: { people: int, strong: int },
  text: `SELECT count(*) AS people, count(*) FILTER (WHERE factor_at > :since) AS strong
   FROM (SELECT factor_at FROM identities WHERE issuer = :issuer AND seen_at > :since ORDER BY seen_at DESC
     LIMIT :most) lately`,
})

/**
 * The users whom the end of a provider touches, so many at most: users without a password, and without
 * another enabled provider that knows them, are stranded.
 */
export const countTouched = statement({
  name: 'count_touched_by_provider',
  takes: { issuer: text, most: int },
  gives: { people: int, stranded: int },
  text: `SELECT count(*) AS people, count(*) FILTER (WHERE has_no_password AND NOT EXISTS (
       SELECT FROM identities o JOIN identity_providers q ON q.issuer = o.issuer AND q.enabled_at IS NOT NULL
       WHERE o.user_id = linked.user_id AND o.issuer <> :issuer)) AS stranded
   FROM (SELECT i.user_id, u.password_hash IS NULL AS has_no_password
     FROM identities i JOIN users u ON u.id = i.user_id AND u.status = 'active' WHERE i.issuer = :issuer
       LIMIT :most) linked`,
})

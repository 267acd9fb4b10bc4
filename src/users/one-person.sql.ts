import { instant, list, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** As the index `audit_entries_about_holder_by_user` has whom an entry is about. */
const about = `coalesce('user:' || (e.details ->> 'userId'), e.subject)`
/** Done by one person: an act that two decided about is not one person's. */
const alone = `NOT EXISTS (SELECT FROM audit_entries d WHERE d.subject = e.subject AND d.actor = e.actor
  AND d.action = 'proposal.approved'
     AND d.at = e.at AND d.request_id IS NOT DISTINCT FROM e.request_id)`

/**
 * The addresses that a user has, or had since `:since`: a person with two accounts could give one of them
 * another address first.
 */
export function addressesOf(user: string): string {
  return `SELECT lower(u.email) AS email FROM users u WHERE u.id = ${user} AND u.email IS NOT NULL
     UNION SELECT lower(f.email) FROM former_emails f WHERE f.user_id = ${user} AND f.replaced_at > :since`
}

/**
 * Whether one person could have come in as both: they share an address, or did since then, or one person (one
 * of them, or a third) opened both accounts since then by one of these actions, one after the other or
 * through accounts that they opened before. An operator who alone enabled or changed a provider for staff
 * opened every account linked there, also when it is removed: links stay, and it can be added again.
 */
export const selectSameHand = statement({
  name: 'select_same_hand',
  takes: { one: text, other: text, since: instant, actions: list(text) },
  gives: { why: text },
  text: `WITH RECURSIVE opened AS MATERIALIZED (
     SELECT substr(e.actor, 6) AS hand, u.id AS account FROM users u
       JOIN audit_entries e ON ${about} = 'user:' || u.id
     WHERE u.role = 'operator' AND e.actor LIKE 'user:%' AND e.actor <> ${about} AND e.action
       NOT LIKE 'partner.%' AND ${about} LIKE 'user:%'
       AND e.action = ANY (:actions::text[]) AND e.at > :since AND ${alone}
     UNION
     SELECT substr(e.actor, 6), i.user_id
     FROM (SELECT name, issuer FROM identity_providers WHERE kind = 'staff' UNION
       SELECT substr(subject, 10), details ->> 'issuer' FROM audit_entries WHERE action = 'provider.removed'
       AND at > :since) p
       CROSS JOIN LATERAL (SELECT * FROM audit_entries WHERE subject = 'provider:' || p.name OFFSET 0) e
         JOIN identities i ON i.issuer = p.issuer
     WHERE e.actor LIKE 'user:%' AND e.action = ANY (:actions::text[]) AND e.details ->> 'opens' IS DISTINCT
       FROM 'nothing' AND e.at > :since AND ${alone}),
   reached AS (
     SELECT id AS hand, id AS account FROM users WHERE id IN (:one, :other) OR id IN (SELECT hand FROM opened)
     UNION
     SELECT r.hand, o.account FROM reached r JOIN opened o ON o.hand = r.account)
   SELECT 'hand' AS why FROM reached WHERE account IN (:one, :other) GROUP BY hand HAVING count(*) = 2
   UNION ALL
   SELECT 'address' FROM (${addressesOf(':one')}) a JOIN (${addressesOf(':other')}) b USING (email)
   LIMIT 1`,
})

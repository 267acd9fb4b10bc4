import { statement } from '../database/database.ts'
import { tellStaff } from '../notices/notices.sql.ts'

const columns = `p.id, p.kind, p.subject, p.act AS values, p.state, p.reason, p.proposed_by AS "proposedBy", u.name AS "proposedByName", p.proposed_at AS "proposedAt",
   p.expires_at AS "expiresAt", p.outcome, p.decided_at AS "decidedAt", d.name AS "decidedByName", p.decision_reason AS "decisionReason"`
const named = 'FROM proposals p JOIN users u ON u.id = p.proposed_by LEFT JOIN users d ON d.id = p.decided_by'

/** None when one of this kind waits already about the same. */
export const insertProposal = statement(
  'insert_proposal',
  `INSERT INTO proposals (kind, subject, act, state, reason, proposed_by, proposed_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
   ON CONFLICT (kind, subject) WHERE outcome IS NULL DO NOTHING RETURNING id`,
)

/** Makes room for a new one. */
export const expireProposal = statement(
  'expire_proposal',
  `UPDATE proposals SET outcome = 'expired', decided_at = expires_at WHERE kind = $1 AND subject = $2 AND outcome IS NULL AND expires_at <= $3
   RETURNING id`,
)

export const selectWaiting = statement(
  'select_waiting_proposal',
  `SELECT ${columns} ${named} WHERE p.kind = $1 AND p.subject = $2 AND p.outcome IS NULL AND p.expires_at > $3`,
)

export const lockProposal = statement('lock_proposal', 'SELECT id FROM proposals WHERE id = $1 FOR UPDATE')

export const selectProposal = statement('select_proposal', `SELECT ${columns} ${named} WHERE p.id = $1`)

/** What waits longest first. */
export const selectOpenProposals = statement(
  'select_open_proposals',
  `SELECT ${columns} ${named} WHERE p.outcome IS NULL AND p.expires_at > $1 AND p.kind = ANY ($2::text[]) ORDER BY p.proposed_at, p.id LIMIT $3`,
)

/** Decided or expired, the newest first. */
export const selectPastProposals = statement(
  'select_past_proposals',
  `SELECT ${columns} ${named} WHERE (p.outcome IS NOT NULL OR p.expires_at <= $1) AND p.kind = ANY ($2::text[]) ORDER BY p.id DESC LIMIT $3`,
)

/** One wins: whoever comes second finds it settled. */
export const settleProposal = statement(
  'settle_proposal',
  `UPDATE proposals SET outcome = $2, decided_by = $3, decided_at = $4, decision_reason = $5 WHERE id = $1 AND outcome IS NULL RETURNING id`,
)

/** To those who could decide, but for whoever proposed it. */
export const tellDeciders = tellStaff(
  'tell_deciders',
  'proposal',
  `SELECT $4::text AS key, $5::jsonb AS facts, $6::text AS about, $7::text[] AS roles`,
)

export const tellOfBreakGlass = tellStaff(
  'tell_of_break_glass',
  'break-glass',
  `SELECT $4::text AS key, $5::jsonb AS facts, $6::text AS about, $7::text[] AS roles`,
)

/** Who could decide about what takes these roles. */
export const countWithRoles = statement(
  'count_staff_with_roles',
  `SELECT count(DISTINCT u.id) AS people FROM users u JOIN staff_roles r ON r.user_id = u.id
   WHERE u.role = 'operator' AND u.status = 'active' AND r.role = ANY ($1::text[])`,
)

/** As the index `audit_entries_about_holder_by_user` has whom an entry is about. */
const about = `coalesce('user:' || (e.details ->> 'userId'), e.subject)`
/** Done by one person: what two decided about is nobody's alone. */
const alone = `NOT EXISTS (SELECT FROM audit_entries d WHERE d.subject = e.subject AND d.actor = e.actor AND d.action = 'proposal.approved'
     AND d.at = e.at AND d.request_id IS NOT DISTINCT FROM e.request_id)`

/**
 * Whether one person could have come in as both $1 and $2: they share an address, or somebody (one of them, or anybody else) opened both accounts since $3 by acts of
 * $4, one after the other or through accounts that they opened before. Whoever enabled or changed a provider for staff alone opened every account linked there.
 */
export const selectSameHand = statement(
  'select_same_hand',
  `WITH RECURSIVE opened AS MATERIALIZED (
     SELECT substr(e.actor, 6) AS hand, u.id AS account FROM users u JOIN audit_entries e ON ${about} = 'user:' || u.id
     WHERE u.role = 'operator' AND e.actor LIKE 'user:%' AND e.actor <> ${about} AND e.action NOT LIKE 'partner.%' AND ${about} LIKE 'user:%'
       AND e.action = ANY ($4::text[]) AND e.at > $3 AND ${alone}
     UNION
     SELECT substr(e.actor, 6), i.user_id FROM identity_providers p JOIN audit_entries e ON e.subject = 'provider:' || p.name JOIN identities i ON i.issuer = p.issuer
     WHERE p.kind = 'staff' AND e.actor LIKE 'user:%' AND e.action = ANY ($4::text[]) AND e.at > $3 AND ${alone}),
   reached AS (
     SELECT id AS hand, id AS account FROM users WHERE id IN ($1, $2) OR id IN (SELECT hand FROM opened)
     UNION
     SELECT r.hand, o.account FROM reached r JOIN opened o ON o.hand = r.account)
   SELECT 'hand' AS why FROM reached WHERE account IN ($1, $2) GROUP BY hand HAVING count(*) = 2
   UNION ALL
   SELECT 'address' FROM users a JOIN users b ON lower(a.email) = lower(b.email) WHERE a.id = $1 AND b.id = $2
   LIMIT 1`,
)

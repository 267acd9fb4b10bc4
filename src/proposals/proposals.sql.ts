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

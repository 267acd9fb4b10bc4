import { bool, instant, int, json, list, oneOf, orNull, text, word } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import type { NoticeFacts } from '../notices/facts.ts'
import { tellStaff } from '../notices/notices.sql.ts'
import type { WiredKind } from './acts.ts'

const columns = `p.id, p.kind, p.subject, p.act AS values, p.state, p.reason, p.proposed_by AS "proposedBy",
  u.name AS "proposedByName", p.credential_id AS "credentialId",
  coalesce(c.readers, '{}') AS readers, p.proposed_at AS "proposedAt", p.expires_at AS "expiresAt", p.outcome,
  p.decided_at AS "decidedAt", d.name AS "decidedByName", p.decision_reason AS "decisionReason"`
const named = `FROM proposals p JOIN users u ON u.id = p.proposed_by LEFT JOIN users d ON d.id = p.decided_by
   LEFT JOIN admin_credentials c ON c.id = p.credential_id`

/** None when one of this kind waits already about the same. */
export const insertProposal = statement({
  name: 'insert_proposal',
  takes: {
    kind: text,
    subject: text,
    act: json<object>(),
    state: text,
    reason: text,
    proposedBy: text,
    credentialId: orNull(int),
    proposedAt: instant,
    expiresAt: instant,
  },
  gives: { id: int },
  text: `INSERT INTO proposals (kind, subject, act, state, reason, proposed_by, credential_id, proposed_at,
     expires_at)
   VALUES (:kind, :subject, :act, :state, :reason, :proposedBy, :credentialId, :proposedAt, :expiresAt)
   ON CONFLICT (kind, subject) WHERE outcome IS NULL DO NOTHING RETURNING id`,
})

/** Makes room for a new one. */
export const expireProposal = statement({
  name: 'expire_proposal',
  takes: { kind: text, subject: text, now: instant },
  text: `UPDATE proposals SET outcome = 'expired', decided_at = expires_at
   WHERE kind = :kind AND subject = :subject AND outcome IS NULL AND expires_at <= :now
   RETURNING id`,
})

const row = {
  id: int,
  kind: word<WiredKind>(),
  subject: text,
  values: json<object>(),
  state: text,
  reason: text,
  proposedBy: text,
  proposedByName: text,
  credentialId: orNull(int),
  readers: list(text),
  proposedAt: instant,
  expiresAt: instant,
  outcome: orNull(oneOf('applied', 'declined', 'withdrawn', 'outdated', 'expired')),
  decidedAt: orNull(instant),
  decidedByName: orNull(text),
  decisionReason: orNull(text),
}

export const selectWaiting = statement({
  name: 'select_waiting_proposal',
  takes: { kind: text, subject: text, now: instant },
  gives: row,
  text: `SELECT ${columns} ${named}
   WHERE p.kind = :kind AND p.subject = :subject AND p.outcome IS NULL AND p.expires_at > :now`,
})

export const lockProposal = statement({
  name: 'lock_proposal',
  takes: { id: int },
  text: 'SELECT id FROM proposals WHERE id = :id FOR UPDATE',
})

export const selectProposal = statement({
  name: 'select_proposal',
  takes: { id: int },
  gives: row,
  text: `SELECT ${columns} ${named} WHERE p.id = :id`,
})

/** What waits longest first. */
export const selectOpenProposals = statement({
  name: 'select_open_proposals',
  takes: { now: instant, kinds: list(text), most: int },
  gives: row,
  text: `SELECT ${columns} ${named}
   WHERE p.outcome IS NULL AND p.expires_at > :now AND p.kind = ANY (:kinds::text[])
   ORDER BY p.proposed_at, p.id LIMIT :most`,
})

/** Decided or expired, the newest first. */
export const selectPastProposals = statement({
  name: 'select_past_proposals',
  takes: { now: instant, kinds: list(text), most: int },
  gives: row,
  text: `SELECT ${columns} ${named}
   WHERE (p.outcome IS NOT NULL OR p.expires_at <= :now) AND p.kind = ANY (:kinds::text[])
   ORDER BY p.id DESC LIMIT :most`,
})

/** Newest first; undefined `isOpen`: whether or not they wait. */
export const selectProposalPage = statement({
  name: 'select_proposal_page',
  takes: { now: instant, kinds: list(text), isOpen: orNull(bool), before: int, most: int },
  gives: row,
  text: `SELECT ${columns} ${named}
   WHERE p.id < :before AND p.kind = ANY (:kinds::text[])
     AND (:isOpen::bool IS NULL OR (p.outcome IS NULL AND p.expires_at > :now) = :isOpen)
   ORDER BY p.id DESC LIMIT :most`,
})

/** One wins: a second transaction finds it settled. */
export const settleProposal = statement({
  name: 'settle_proposal',
  takes: { id: int, outcome: text, decidedBy: text, decidedAt: instant, decisionReason: orNull(text) },
  gives: { id: int },
  text: `UPDATE proposals SET outcome = :outcome, decided_by = :decidedBy, decided_at = :decidedAt,
     decision_reason = :decisionReason
   WHERE id = :id AND outcome IS NULL RETURNING id`,
})

const found =
  'SELECT :key::text AS key, :facts::jsonb AS facts, :about::text AS about, :roles::text[] AS roles'

/** To the staff who could decide, but for the proposer. */
export const tellDeciders = tellStaff({
  name: 'tell_deciders',
  kind: 'proposal',
  takes: { key: text, facts: json<NoticeFacts['proposal']>(), about: text, roles: list(text) },
  found,
})

export const tellOfBreakGlass = tellStaff({
  name: 'tell_of_break_glass',
  kind: 'break-glass',
  takes: { key: text, facts: json<NoticeFacts['break-glass']>(), about: text, roles: list(text) },
  found,
})

/** Operators who could decide about what takes these roles. */
export const countWithRoles = statement({
  name: 'count_staff_with_roles',
  takes: { roles: list(text) },
  gives: { people: int },
  text: `SELECT count(DISTINCT u.id) AS people FROM users u JOIN staff_roles r ON r.user_id = u.id
   WHERE u.role = 'operator' AND u.status = 'active' AND r.role = ANY (:roles::text[])`,
})

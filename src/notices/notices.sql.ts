import { instant, int, json, oneOf, orNull, text, uuid, word } from '../database/column.ts'
import { type Columns, statement } from '../database/statement.ts'
import type { NoticeFacts, NoticeKind, PersonalKind } from './facts.ts'

const facts = json<NoticeFacts[NoticeKind]>()

/** As `memberLimits` gives them. */
const limits = { now: instant, dayAgo: instant, mostADay: int }

export const lockRecipient = statement({
  name: 'lock_recipient',
  takes: { recipient: text },
  text: 'SELECT pg_advisory_xact_lock(hashtextextended(:recipient, 0))',
})

export const insertNotice = statement({
  name: 'insert_notice',
  takes: { ...limits, userId: text, kind: text, key: text, facts, email: orNull(text) },
  gives: { id: int },
  text: `INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
   SELECT u.id, coalesce(:email, u.email), :kind::text, :key, :facts, :now, :now FROM users u
   WHERE u.id = :userId AND coalesce(:email, u.email) IS NOT NULL
     AND (SELECT count(*) FROM notices n WHERE n.user_id = u.id AND n.kind = :kind AND n.created_at > :dayAgo)
       < :mostADay
   ON CONFLICT (key) DO NOTHING RETURNING id`,
})

/** By the limits that it has there. */
export const tellOwner = statement({
  name: 'tell_owner',
  takes: { userId: text, kind: text, facts: json<object>(), now: instant },
  text: 'SELECT tell_owner(:userId, :kind, :facts, :now) AS told',
})

export const insertForAddress = statement({
  name: 'insert_notice_for_address',
  takes: { email: text, kind: text, key: text, facts, now: instant },
  text: `INSERT INTO notices (email, kind, key, facts, created_at, due_at)
   VALUES (:email, :kind, :key, :facts, :now, :now)`,
})

export const countForAddress = statement({
  name: 'count_mail_for_address',
  takes: { email: text, branchId: int, since: instant },
  gives: { toAddress: int, byPartner: int },
  text: `SELECT count(*) FILTER (WHERE lower(email) = lower(:email)) AS "toAddress",
          count(*) FILTER (WHERE (facts ->> 'branchId')::int = :branchId) AS "byPartner"
   FROM notices WHERE user_id IS NULL AND kind = 'invitation' AND created_at > :since`,
})

export const countTold = statement({
  name: 'count_told_notices',
  takes: { userId: text, kind: text, since: instant },
  gives: { count: int, lastAt: orNull(instant) },
  text: `SELECT count(*) AS count, max(created_at) AS "lastAt" FROM notices
   WHERE user_id = :userId AND kind = :kind AND created_at > :since`,
})

export const selectTold = statement({
  name: 'select_told_notice',
  takes: { userId: text, kind: text, facts, since: instant },
  gives: { id: int },
  text: `SELECT id FROM notices
   WHERE user_id = :userId AND kind = :kind AND created_at > :since AND facts = :facts LIMIT 1`,
})

interface NoticeStatement<Takes extends Columns> {
  readonly name: string
  readonly kind: PersonalKind
  /** What `found` takes beside `now`. */
  readonly takes: Takes
  /** The person it is about, and what is to be told. */
  readonly found: string
}

/** For every member of the partners that `found` names: it answers (branch_id, key, facts). */
export function tellMembers<Takes extends Columns>(notice: NoticeStatement<Takes>) {
  return tellAll(
    notice,
    'JOIN partner_members m ON m.branch_id = found.branch_id JOIN users u ON u.id = m.user_id',
  )
}

/** For the owners alone, but for the person it is about: `found` answers (branch_id, key, facts, about). */
export function tellOtherOwners<Takes extends Columns>(notice: NoticeStatement<Takes>) {
  const owners = `JOIN partner_members m ON m.branch_id = found.branch_id AND m.role = 'owner'
    AND m.user_id <> found.about`
  return tellAll(notice, `${owners} JOIN users u ON u.id = m.user_id`)
}

/**
 * For staff with one of these roles, but for the person it is about: `found` answers (key, facts, about,
 * roles).
 */
export function tellStaff<Takes extends Columns>(notice: NoticeStatement<Takes>) {
  const hasRole = 'EXISTS (SELECT FROM staff_roles r WHERE r.user_id = u.id AND r.role = ANY (found.roles))'
  return tellAll(notice, `JOIN users u ON u.role = 'operator' AND u.id <> found.about AND ${hasRole}`)
}

function tellAll<Takes extends Columns>(
  { name, kind, takes, found }: NoticeStatement<Takes>,
  people: string,
) {
  return statement({
    name,
    takes: { ...limits, ...takes },
    gives: { id: int },
    text: `INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
     SELECT untold.id, untold.email, '${kind}', untold.key, untold.facts, :now::timestamptz, :now::timestamptz
       FROM (
       SELECT u.id, u.email, '${kind}:' || found.key || ':' || u.id AS key, found.facts,
              row_number() OVER (PARTITION BY u.id ORDER BY found.key) AS place
       FROM (${found}) AS found
       ${people} AND u.status = 'active' AND u.email IS NOT NULL AND NOT '${kind}' = ANY (u.declined_notices)
       WHERE NOT EXISTS (SELECT FROM notices n WHERE n.key = '${kind}:' || found.key || ':' || u.id)) AS
         untold
     WHERE untold.place + (SELECT count(*) FROM notices n WHERE n.user_id = untold.id AND n.kind = '${kind}'
       AND n.created_at > :dayAgo) <= :mostADay
     ON CONFLICT (key) DO NOTHING RETURNING id`,
  })
}

export const areNoticesDue = `EXISTS (SELECT FROM notices WHERE state = 'waiting' AND due_at <= round.now)`

/** One at a time. Counted before it is sent: what ends the process is an attempt too. */
export const claimNotice = statement({
  name: 'claim_notice',
  takes: { claimId: uuid, now: instant, until: instant },
  gives: {
    id: int,
    email: text,
    kind: word<NoticeKind>(),
    key: text,
    facts,
    attempts: int,
    createdAt: instant,
    name: orNull(text),
  },
  text: `UPDATE notices SET claim_id = :claimId, due_at = :until, attempts = attempts + 1
   WHERE id = (SELECT id FROM notices WHERE state = 'waiting' AND due_at <= :now ORDER BY due_at, id LIMIT 1
     FOR UPDATE SKIP LOCKED)
   RETURNING id, email, kind, key, facts, attempts, created_at AS "createdAt", (SELECT u.name FROM users u
     WHERE u.id = notices.user_id) AS name`,
})

/** Only by who holds it: whose lease ran out writes nothing. */
export const settleNotice = statement({
  name: 'settle_notice',
  takes: {
    id: int,
    claimId: uuid,
    state: text,
    dueAt: orNull(instant),
    error: orNull(text),
    settledAt: orNull(instant),
  },
  text: `UPDATE notices SET state = :state, due_at = coalesce(:dueAt, due_at), error = :error,
     settled_at = :settledAt, claim_id = NULL
   WHERE id = :id AND claim_id = :claimId AND state = 'waiting' RETURNING id`,
})

export const selectNoticesOf = statement({
  name: 'select_notices_of',
  takes: { userId: text, most: int },
  gives: {
    id: int,
    kind: word<PersonalKind>(),
    email: text,
    state: oneOf('waiting', 'sent', 'given up'),
    createdAt: instant,
  },
  text: `SELECT id, kind, email, state, created_at AS "createdAt" FROM notices WHERE user_id = :userId
    ORDER BY created_at DESC, id DESC LIMIT :most`,
})

export const deleteOldNotices = statement({
  name: 'delete_old_notices',
  takes: { until: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM notices WHERE id = ANY (ARRAY(
     SELECT id FROM notices WHERE state <> 'waiting' AND settled_at <= :until LIMIT :most)) RETURNING id`,
})

import { type Statement, statement } from '../database/database.ts'

export const lockRecipient = statement('lock_recipient', 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))')

export const insertNotice = statement(
  'insert_notice',
  `INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
   SELECT u.id, coalesce($5, u.email), $2::text, $3, $4, $6, $6 FROM users u
   WHERE u.id = $1 AND coalesce($5, u.email) IS NOT NULL
     AND (SELECT count(*) FROM notices n WHERE n.user_id = u.id AND n.kind = $2 AND n.created_at > $7) < $8
   ON CONFLICT (key) DO NOTHING RETURNING id`,
)

/** By the limits that it has there. */
export const tellOwner = statement('tell_owner', 'SELECT tell_owner($1, $2, $3, $4) AS told')

export const insertForAddress = statement(
  'insert_notice_for_address',
  'INSERT INTO notices (email, kind, key, facts, created_at, due_at) VALUES ($1, $2, $3, $4, $5, $5)',
)

export const countForAddress = statement(
  'count_mail_for_address',
  `SELECT count(*) FILTER (WHERE lower(email) = lower($1)) AS "toAddress",
          count(*) FILTER (WHERE (facts ->> 'branchId')::int = $2) AS "byPartner"
   FROM notices WHERE user_id IS NULL AND kind = 'invitation' AND created_at > $3`,
)

export const countTold = statement(
  'count_told_notices',
  'SELECT count(*) AS count, max(created_at) AS "lastAt" FROM notices WHERE user_id = $1 AND kind = $2 AND created_at > $3',
)

export const selectTold = statement(
  'select_told_notice',
  'SELECT id FROM notices WHERE user_id = $1 AND kind = $2 AND created_at > $4 AND facts = $3 LIMIT 1',
)

/**
 * For every member of the partners that `found` names, with what is to be told: it answers (branch_id, key, facts) from $4 on. Before
 * that: $1 now, $2 a day ago, $3 how many of a kind a person gets in a day.
 */
export function tellMembers(name: string, kind: string, found: string): Statement {
  return tellAll(
    name,
    kind,
    found,
    'JOIN partner_members m ON m.branch_id = found.branch_id JOIN users u ON u.id = m.user_id',
  )
}

/** For the owners alone, but for whomever it is about: `found` answers (branch_id, key, facts, about). */
export function tellOtherOwners(name: string, kind: string, found: string): Statement {
  const owners = `JOIN partner_members m ON m.branch_id = found.branch_id AND m.role = 'owner' AND m.user_id <> found.about`
  return tellAll(name, kind, found, `${owners} JOIN users u ON u.id = m.user_id`)
}

/** For staff with one of these roles, but for whomever it is about: `found` answers (key, facts, about, roles). */
export function tellStaff(name: string, kind: string, found: string): Statement {
  const hasRole = 'EXISTS (SELECT FROM staff_roles r WHERE r.user_id = u.id AND r.role = ANY (found.roles))'
  return tellAll(name, kind, found, `JOIN users u ON u.role = 'operator' AND u.id <> found.about AND ${hasRole}`)
}

function tellAll(name: string, kind: string, found: string, people: string): Statement {
  return statement(
    name,
    `INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
     SELECT untold.id, untold.email, '${kind}', untold.key, untold.facts, $1::timestamptz, $1::timestamptz FROM (
       SELECT u.id, u.email, '${kind}:' || found.key || ':' || u.id AS key, found.facts,
              row_number() OVER (PARTITION BY u.id ORDER BY found.key) AS place
       FROM (${found}) AS found
       ${people} AND u.status = 'active' AND u.email IS NOT NULL AND NOT '${kind}' = ANY (u.declined_notices)
       WHERE NOT EXISTS (SELECT FROM notices n WHERE n.key = '${kind}:' || found.key || ':' || u.id)) AS untold
     WHERE untold.place + (SELECT count(*) FROM notices n WHERE n.user_id = untold.id AND n.kind = '${kind}' AND n.created_at > $2) <= $3
     ON CONFLICT (key) DO NOTHING RETURNING id`,
  )
}

export const areNoticesDue = `EXISTS (SELECT FROM notices WHERE state = 'waiting' AND due_at <= round.now)`

/** One at a time. Counted before it is sent: what ends the process is an attempt too. */
export const claimNotice = statement(
  'claim_notice',
  `UPDATE notices SET claim_id = $1, due_at = $3, attempts = attempts + 1
   WHERE id = (SELECT id FROM notices WHERE state = 'waiting' AND due_at <= $2 ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
   RETURNING id, email, kind, key, facts, attempts, created_at AS "createdAt", (SELECT u.name FROM users u WHERE u.id = notices.user_id) AS name`,
)

/** Only by who holds it: whose lease ran out writes nothing. */
export const settleNotice = statement(
  'settle_notice',
  `UPDATE notices SET state = $3, due_at = coalesce($4, due_at), error = $5, settled_at = $6, claim_id = NULL
   WHERE id = $1 AND claim_id = $2 AND state = 'waiting' RETURNING id`,
)

export const selectNoticesOf = statement(
  'select_notices_of',
  'SELECT id, kind, email, state, created_at AS "createdAt" FROM notices WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2',
)

export const deleteOldNotices = statement(
  'delete_old_notices',
  `DELETE FROM notices WHERE id = ANY (ARRAY(
     SELECT id FROM notices WHERE state <> 'waiting' AND settled_at <= $1 LIMIT $2)) RETURNING id`,
)

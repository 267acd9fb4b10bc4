import { statement } from '../../database/database.ts'

/** Of each webhook or client the newest so many, those that have ended too. */
const newest = 4

/** Of a branch ($1, $2), or of one of its webhooks ($3). */
export const selectOwnSecrets = statement(
  'select_own_secrets_of_branch',
  `SELECT w.id AS "webhookId", s.sealed, s.signs_from AS "signsFrom", s.ends_at AS "endsAt"
   FROM webhooks w CROSS JOIN LATERAL (
     SELECT sealed, signs_from, ends_at FROM webhook_secrets WHERE webhook_id = w.id ORDER BY signs_from DESC, id DESC LIMIT ${newest}) s
   WHERE w.branch_id = $1 AND w.environment = $2 AND w.state <> 'deleted' AND ($3::bigint IS NULL OR w.id = $3)
   ORDER BY w.id DESC, s.signs_from DESC LIMIT $4`,
)

/** Of the clients of a branch ($1, $2), or of one of them ($3). A secret that was revoked ended then. */
export const selectClientSecrets = statement(
  'select_checkable_client_secrets',
  `SELECT c.id AS "clientId", c.name, s.sealed, s.signs_from AS "signsFrom", least(s.expires_at, s.revoked_at) AS "endsAt"
   FROM clients c CROSS JOIN LATERAL (
     SELECT sealed, signs_from, expires_at, revoked_at FROM client_secrets WHERE client_id = c.id ORDER BY id DESC LIMIT ${newest}) s
   WHERE c.branch_id = $1 AND c.environment = $2 AND ($3::text IS NULL OR c.id = $3)
   ORDER BY c.created_at, c.id, s.signs_from DESC LIMIT $4`,
)

/** An event of a feed ($1, $2) by its uid. */
export const selectRecentEvent = statement(
  'select_recent_event',
  'SELECT kind, action, body, created_at AS "publishedAt" FROM log WHERE part = $1 AND feed = $2 AND uid = $3::uuid LIMIT 1',
)

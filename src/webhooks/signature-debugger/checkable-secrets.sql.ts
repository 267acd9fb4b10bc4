import { bytes, instant, int, oneOf, orNull, text, uuid } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { kinds } from '../events/kind.ts'

/** Of each webhook or client the newest so many, those that have ended too. */
const newest = 4

/** Of a branch, or of one of its webhooks. */
export const selectOwnSecrets = statement({
  name: 'select_own_secrets_of_branch',
  takes: { branchId: int, environment: text, webhookId: orNull(int), most: int },
  gives: { webhookId: int, sealed: bytes, signsFrom: instant, endsAt: orNull(instant) },
  text: `SELECT w.id AS "webhookId", s.sealed, s.signs_from AS "signsFrom", s.ends_at AS "endsAt"
   FROM webhooks w CROSS JOIN LATERAL (
     SELECT sealed, signs_from, ends_at FROM webhook_secrets WHERE webhook_id = w.id
       ORDER BY signs_from DESC, id DESC LIMIT ${newest}) s
   WHERE w.branch_id = :branchId AND w.environment = :environment AND w.state <> 'deleted'
     AND (:webhookId::bigint IS NULL OR w.id = :webhookId)
   ORDER BY w.id DESC, s.signs_from DESC LIMIT :most`,
})

/** Of the clients of a branch, or of one of them. A secret that was revoked ended then. */
export const selectClientSecrets = statement({
  name: 'select_checkable_client_secrets',
  takes: { branchId: int, environment: text, clientId: orNull(text), most: int },
  gives: { clientId: text, name: text, sealed: bytes, signsFrom: instant, endsAt: orNull(instant) },
  text: `SELECT c.id AS "clientId", c.name, s.sealed, s.signs_from AS "signsFrom",
    least(s.expires_at, s.revoked_at, c.fapi2_from) AS "endsAt"
   FROM clients c CROSS JOIN LATERAL (
     SELECT sealed, signs_from, expires_at, revoked_at FROM client_secrets WHERE client_id = c.id
       ORDER BY id DESC LIMIT ${newest}) s
   WHERE c.branch_id = :branchId AND c.environment = :environment
     AND (:clientId::text IS NULL OR c.id = :clientId)
   ORDER BY c.created_at, c.id, s.signs_from DESC LIMIT :most`,
})

/** An event of a feed by its uid. */
export const selectRecentEvent = statement({
  name: 'select_recent_event',
  takes: { part: int, feed: int, uid: uuid },
  gives: {
    kind: oneOf(...kinds),
    action: text,
    body: text,
    publishedAt: instant,
  },
  text: `SELECT kind, action, body, created_at AS "publishedAt" FROM log WHERE part = :part AND feed = :feed
    AND uid = :uid::uuid LIMIT 1`,
})

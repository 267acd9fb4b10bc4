import { bool, instant, int, oneOf, orNull, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'

/**
 * Only a webhook of the sandbox, of the same branch, that still points there: one that was deleted or leads
 * elsewhere since is not its own.
 */
const itsWebhook = `w.id = r.webhook_id AND w.branch_id = r.branch_id AND w.environment = 'sandbox'
  AND w.state <> 'deleted'
     AND w.url LIKE '%/receiver/' || r.token`

export const selectReceiver = statement({
  name: 'select_built_in_receiver',
  takes: { branchId: int },
  gives: { webhookId: int, url: text, state: oneOf('active', 'paused', 'disabled', 'deleted') },
  text: `SELECT r.webhook_id AS "webhookId", w.url, w.state FROM built_in_receivers r
    JOIN webhooks w ON ${itsWebhook} WHERE r.branch_id = :branchId`,
})

export const selectVerifiedAt = statement({
  name: 'select_verified_at',
  takes: { branchId: int },
  gives: { verifiedAt: orNull(instant) },
  text: 'SELECT verified_at AS "verifiedAt" FROM built_in_receivers WHERE branch_id = :branchId',
})

/** In place of one whose webhook is gone. */
export const upsertReceiver = statement({
  name: 'upsert_built_in_receiver',
  takes: { branchId: int, token: text, webhookId: int, now: instant },
  text: `INSERT INTO built_in_receivers (branch_id, token, webhook_id, created_at)
   VALUES (:branchId, :token, :webhookId, :now)
   ON CONFLICT (branch_id) DO UPDATE SET token = excluded.token, webhook_id = excluded.webhook_id,
     created_at = excluded.created_at`,
})

/** Whose delivery it is: of this very webhook, to its own address. */
export const selectTaker = statement({
  name: 'select_built_in_taker',
  takes: { webhookId: int, token: text, url: text },
  gives: { branchId: int },
  text: `SELECT r.branch_id AS "branchId" FROM built_in_receivers r JOIN webhooks w ON ${itsWebhook}
    WHERE r.webhook_id = :webhookId AND r.token = :token AND w.url = :url`,
})

export const selectAddress = statement({
  name: 'select_built_in_address',
  takes: { webhookId: int },
  gives: { url: text },
  text: `SELECT w.url FROM built_in_receivers r JOIN webhooks w ON ${itsWebhook}
   WHERE r.webhook_id = :webhookId`,
})

/** Beside so many of the newest that were there before (`kept`). */
export const insertReceipt = statement({
  name: 'insert_receipt',
  takes: {
    branchId: int,
    eventUid: text,
    verified: bool,
    head: text,
    body: text,
    now: instant,
    kept: int,
  },
  text: `WITH added AS (
     INSERT INTO built_in_receipts (branch_id, event_uid, verified, head, body, received_at)
       VALUES (:branchId, :eventUid, :verified, :head, :body, :now)),
   seen AS (
     UPDATE built_in_receivers SET verified_at = :now
     WHERE branch_id = :branchId AND verified_at IS NULL AND :verified)
   DELETE FROM built_in_receipts WHERE branch_id = :branchId AND id <= (
     SELECT id FROM built_in_receipts WHERE branch_id = :branchId ORDER BY id DESC OFFSET :kept LIMIT 1)`,
})

export const selectReceipts = statement({
  name: 'select_receipts',
  takes: { branchId: int, most: int },
  gives: { eventUid: text, verified: bool, head: text, body: text, receivedAt: instant },
  text: `SELECT event_uid AS "eventUid", verified, head, body, received_at AS "receivedAt"
    FROM built_in_receipts
   WHERE branch_id = :branchId ORDER BY id DESC LIMIT :most`,
})

export const deleteOldReceipts = statement({
  name: 'delete_old_receipts',
  takes: { until: instant, most: int },
  gives: { id: int },
  text: `DELETE FROM built_in_receipts WHERE id = ANY (ARRAY(
     SELECT id FROM built_in_receipts WHERE received_at <= :until ORDER BY received_at LIMIT :most))
   RETURNING id`,
})

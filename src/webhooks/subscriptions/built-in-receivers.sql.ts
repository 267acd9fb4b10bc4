import { statement } from '../../database/database.ts'

/** Only a webhook of the sandbox, of the same branch, that still points there: one that was deleted or leads elsewhere since is not its own. */
const itsWebhook = `w.id = r.webhook_id AND w.branch_id = r.branch_id AND w.environment = 'sandbox' AND w.state <> 'deleted'
     AND w.url LIKE '%/receiver/' || r.token`

export const selectReceiver = statement(
  'select_built_in_receiver',
  `SELECT r.webhook_id AS "webhookId", w.url, w.state FROM built_in_receivers r JOIN webhooks w ON ${itsWebhook} WHERE r.branch_id = $1`,
)

export const selectVerifiedAt = statement(
  'select_verified_at',
  'SELECT verified_at AS "verifiedAt" FROM built_in_receivers WHERE branch_id = $1',
)

/** In place of one whose webhook is gone. */
export const upsertReceiver = statement(
  'upsert_built_in_receiver',
  `INSERT INTO built_in_receivers (branch_id, token, webhook_id, created_at) VALUES ($1, $2, $3, $4)
   ON CONFLICT (branch_id) DO UPDATE SET token = excluded.token, webhook_id = excluded.webhook_id, created_at = excluded.created_at`,
)

/** Whose delivery it is: of this very webhook, to its own address. */
export const selectTaker = statement(
  'select_built_in_taker',
  `SELECT r.branch_id AS "branchId" FROM built_in_receivers r JOIN webhooks w ON ${itsWebhook} WHERE r.webhook_id = $1 AND r.token = $2 AND w.url = $3`,
)

export const selectAddress = statement(
  'select_built_in_address',
  `SELECT w.url FROM built_in_receivers r JOIN webhooks w ON ${itsWebhook} WHERE r.webhook_id = $1`,
)

/** Beside the newest $7 that were there before. */
export const insertReceipt = statement(
  'insert_receipt',
  `WITH added AS (
     INSERT INTO built_in_receipts (branch_id, event_uid, verified, head, body, received_at) VALUES ($1, $2, $3, $4, $5, $6)),
   seen AS (
     UPDATE built_in_receivers SET verified_at = $6 WHERE branch_id = $1 AND verified_at IS NULL AND $3)
   DELETE FROM built_in_receipts WHERE branch_id = $1 AND id <= (
     SELECT id FROM built_in_receipts WHERE branch_id = $1 ORDER BY id DESC OFFSET $7 LIMIT 1)`,
)

export const selectReceipts = statement(
  'select_receipts',
  `SELECT event_uid AS "eventUid", verified, head, body, received_at AS "receivedAt" FROM built_in_receipts
   WHERE branch_id = $1 ORDER BY id DESC LIMIT $2`,
)

export const deleteOldReceipts = statement(
  'delete_old_receipts',
  `DELETE FROM built_in_receipts WHERE id = ANY (ARRAY(
     SELECT id FROM built_in_receipts WHERE received_at <= $1 ORDER BY received_at LIMIT $2)) RETURNING id`,
)

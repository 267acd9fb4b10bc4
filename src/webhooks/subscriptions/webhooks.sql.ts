import { statement } from '../../database/database.ts'

export const webhookColumns = `webhooks.id, webhooks.branch_id AS "branchId", webhooks.environment, webhooks.client_id AS "clientId", webhooks.url, webhooks.kinds,
  webhooks.actions, webhooks.rate_limit AS "rateLimit", webhooks.description, webhooks.state, webhooks.disabled_reason AS "disabledReason", webhooks.created_at AS "createdAt", webhooks.updated_at AS "updatedAt"`

/** Whether a webhook asks for an event: for its kind and, where it names actions of that kind, for its action. */
export function wants(webhook: string, event: string): string {
  return `${event}.kind = ANY (${webhook}.kinds) AND coalesce(${webhook}.actions -> ${event}.kind ? ${event}.action, true)`
}

export const insertWebhook = statement(
  'insert_webhook',
  `INSERT INTO webhooks (branch_id, environment, client_id, url, kinds, actions, rate_limit, description, created_at, updated_at)
   VALUES ($1, $2, $3, $4, $5, $7, $8, $9, $6, $6) RETURNING ${webhookColumns}`,
)

export const countWebhooks = statement(
  'count_webhooks',
  `SELECT count(*) AS living FROM webhooks WHERE branch_id = $1 AND environment = $2 AND state <> 'deleted'`,
)

/** Serialises the creations of one branch, so that its limit holds. */
export const lockBranch = statement(
  'lock_branch',
  'SELECT branch_id AS "branchId" FROM partners WHERE branch_id = $1 FOR NO KEY UPDATE',
)

export const selectWebhook = statement(
  'select_webhook',
  `SELECT ${webhookColumns} FROM webhooks WHERE id = $1 AND branch_id = $2 AND environment = $3 AND state <> 'deleted'`,
)

export const lockWebhook = statement(
  'lock_webhook',
  `SELECT ${webhookColumns} FROM webhooks WHERE id = $1 AND state <> 'deleted' FOR NO KEY UPDATE`,
)

export const selectWebhooks = statement(
  'select_webhooks',
  `SELECT ${webhookColumns} FROM webhooks WHERE branch_id = $1 AND environment = $2 AND state <> 'deleted' AND id > $3 ORDER BY id LIMIT $4`,
)

export const updateWebhook = statement(
  'update_webhook',
  `UPDATE webhooks SET url = $2, kinds = $3, updated_at = $4, actions = $5, rate_limit = $6, description = $7 WHERE id = $1 AND state <> 'deleted' RETURNING ${webhookColumns}`,
)

export const updateWebhookState = statement(
  'update_webhook_state',
  `UPDATE webhooks SET state = $2, disabled_reason = $3, updated_at = $4 WHERE id = $1 AND state <> 'deleted' RETURNING ${webhookColumns}`,
)

/** Undefined when it is no longer active: of ten answers that disable, one does. */
export const updateActiveToDisabled = statement(
  'update_active_to_disabled',
  `UPDATE webhooks SET state = 'disabled', disabled_reason = $2, updated_at = $3 WHERE id = $1 AND state = 'active' RETURNING ${webhookColumns}`,
)

export const insertWebhookSecret = statement(
  'insert_webhook_secret',
  'INSERT INTO webhook_secrets (webhook_id, sealed, signs_from, created_at) VALUES ($1, $2, $3, $4) RETURNING id',
)

export const endOlderSecrets = statement(
  'end_older_webhook_secrets',
  'UPDATE webhook_secrets SET ends_at = least(ends_at, $3) WHERE webhook_id = $1 AND id <> $2',
)

export const selectWebhookSecrets = statement(
  'select_webhook_secrets',
  `SELECT webhook_id AS "webhookId", sealed, signs_from AS "signsFrom", ends_at AS "endsAt" FROM webhook_secrets WHERE webhook_id = ANY ($1::bigint[]) ORDER BY signs_from DESC, id DESC`,
)

/** Its own that signs at $2; none while a client's does. */
export const selectSigningSecret = statement(
  'select_signing_secret',
  `SELECT created_at AS "createdAt" FROM webhook_secrets
   WHERE webhook_id = $1 AND signs_from <= $2 AND (ends_at IS NULL OR ends_at > $2) ORDER BY signs_from DESC, id DESC LIMIT 1`,
)

/** Whose next secret has not begun to sign. */
export const selectSwitches = statement(
  'select_secret_switches',
  `SELECT webhook_id AS "webhookId", min(signs_from) AS "signsFrom" FROM webhook_secrets WHERE webhook_id = ANY ($1::bigint[]) AND signs_from > $2 GROUP BY webhook_id`,
)

/** Without a custom secret, the client's living secrets sign, the one that began last first. A client without one has a row without a secret. */
export const selectClientSecretsOfWebhook = statement(
  'select_client_secrets_of_webhook',
  `SELECT w.id AS "webhookId", w.client_id AS "clientId", s.sealed, s.signs_from AS "signsFrom", s.expires_at AS "endsAt"
   FROM webhooks w LEFT JOIN client_secrets s ON s.client_id = w.client_id AND s.revoked_at IS NULL
   WHERE w.id = ANY ($1::bigint[]) AND w.client_id IS NOT NULL ORDER BY s.signs_from DESC, s.id DESC`,
)

export const selectDefaultClient = statement(
  'select_default_client',
  `SELECT id FROM clients WHERE branch_id = $1 AND environment = $2 AND status = 'active' ORDER BY created_at, id LIMIT 1`,
)

export const selectSealedWebhookSecrets = statement(
  'select_sealed_webhook_secrets',
  'SELECT id, webhook_id AS "webhookId", sealed FROM webhook_secrets WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE',
)

export const readSealedWebhookSecrets = statement(
  'read_sealed_webhook_secrets',
  'SELECT id, webhook_id AS "webhookId", sealed FROM webhook_secrets WHERE id > $1 ORDER BY id LIMIT $2',
)

export const updateSealedWebhookSecret = statement(
  'update_sealed_webhook_secret',
  'UPDATE webhook_secrets SET sealed = $2 WHERE id = $1',
)

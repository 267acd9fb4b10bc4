import { bytes, instant, int, json, list, oneOf, orNull, sure, text } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { environments } from '../../vocabulary/environment.ts'
import { kinds } from '../events/kind.ts'
import type { Actions } from './webhook-settings.ts'

export const webhookColumns = `webhooks.id, webhooks.branch_id AS "branchId", webhooks.environment,
  webhooks.client_id AS "clientId", webhooks.url, webhooks.kinds,
  webhooks.actions, webhooks.rate_limit AS "rateLimit", webhooks.description, webhooks.state,
    webhooks.disabled_reason AS "disabledReason", webhooks.created_at AS "createdAt",
    webhooks.updated_at AS "updatedAt"`

export const webhookRow = {
  id: int,
  branchId: int,
  environment: oneOf(...environments),
  clientId: orNull(text),
  url: text,
  kinds: list(oneOf(...kinds)),
  actions: json<Actions>(),
  rateLimit: orNull(int),
  description: text,
  state: oneOf('active', 'paused', 'disabled', 'deleted'),
  disabledReason: orNull(text),
  createdAt: instant,
  updatedAt: instant,
}

/** As `WebhookSettings` has them. */
const settings = { actions: json<Actions>(), rateLimit: orNull(int), description: text }

export const insertWebhook = statement({
  name: 'insert_webhook',
  takes: {
    branchId: int,
    environment: text,
    clientId: orNull(text),
    url: text,
    kinds: list(text),
    ...settings,
    now: instant,
  },
  gives: webhookRow,
  text: `INSERT INTO webhooks (branch_id, environment, client_id, url, kinds, actions, rate_limit,
    description,
    created_at, updated_at)
   VALUES (:branchId, :environment, :clientId, :url, :kinds, :actions, :rateLimit, :description, :now, :now)
   RETURNING ${webhookColumns}`,
})

export const countWebhooks = statement({
  name: 'count_webhooks',
  takes: { branchId: int, environment: text },
  gives: { living: int },
  text: `SELECT count(*) AS living FROM webhooks
   WHERE branch_id = :branchId AND environment = :environment AND state <> 'deleted'`,
})

/** Serialises the creations of one branch, so that its limit holds. */
export const lockBranch = statement({
  name: 'lock_branch',
  takes: { branchId: int },
  gives: { branchId: int },
  text: 'SELECT branch_id AS "branchId" FROM partners WHERE branch_id = :branchId FOR NO KEY UPDATE',
})

export const selectWebhook = statement({
  name: 'select_webhook',
  takes: { id: int, branchId: int, environment: text },
  gives: webhookRow,
  text: `SELECT ${webhookColumns} FROM webhooks
   WHERE id = :id AND branch_id = :branchId AND environment = :environment AND state <> 'deleted'`,
})

export const lockWebhook = statement({
  name: 'lock_webhook',
  takes: { id: int },
  gives: webhookRow,
  text: `SELECT ${webhookColumns} FROM webhooks WHERE id = :id AND state <> 'deleted' FOR NO KEY UPDATE`,
})

export const selectWebhooks = statement({
  name: 'select_webhooks',
  takes: { branchId: int, environment: text, afterId: int, most: int },
  gives: webhookRow,
  text: `SELECT ${webhookColumns} FROM webhooks
   WHERE branch_id = :branchId AND environment = :environment AND state <> 'deleted' AND id > :afterId
   ORDER BY id LIMIT :most`,
})

export const selectWebhooksByIds = statement({
  name: 'select_webhooks_by_ids',
  takes: { ids: list(int) },
  gives: webhookRow,
  text: `SELECT ${webhookColumns} FROM webhooks WHERE id = ANY (:ids::bigint[]) AND state <> 'deleted'`,
})

export const updateWebhook = statement({
  name: 'update_webhook',
  takes: { id: int, url: text, kinds: list(text), ...settings, now: instant },
  gives: webhookRow,
  text: `UPDATE webhooks SET url = :url, kinds = :kinds, updated_at = :now, actions = :actions,
     rate_limit = :rateLimit, description = :description
   WHERE id = :id AND state <> 'deleted' RETURNING ${webhookColumns}`,
})

export const updateWebhookState = statement({
  name: 'update_webhook_state',
  takes: { id: int, state: text, disabledReason: orNull(text), now: instant },
  gives: webhookRow,
  text: `UPDATE webhooks SET state = :state, disabled_reason = :disabledReason, updated_at = :now
   WHERE id = :id AND state <> 'deleted' RETURNING ${webhookColumns}`,
})

/** Undefined when it is no longer active: of ten answers that disable, one does. */
export const updateActiveToDisabled = statement({
  name: 'update_active_to_disabled',
  takes: { id: int, reason: text, now: instant },
  gives: webhookRow,
  text: `UPDATE webhooks SET state = 'disabled', disabled_reason = :reason, updated_at = :now
    WHERE id = :id AND state = 'active' RETURNING ${webhookColumns}`,
})

export const insertWebhookSecret = statement({
  name: 'insert_webhook_secret',
  takes: { webhookId: int, sealed: bytes, signsFrom: instant, now: instant },
  gives: { id: int },
  text: `INSERT INTO webhook_secrets (webhook_id, sealed, signs_from, created_at)
   VALUES (:webhookId, :sealed, :signsFrom, :now) RETURNING id`,
})

export const endOlderSecrets = statement({
  name: 'end_older_webhook_secrets',
  takes: { webhookId: int, id: int, endsAt: instant },
  text: `UPDATE webhook_secrets SET ends_at = least(ends_at, :endsAt)
   WHERE webhook_id = :webhookId AND id <> :id`,
})

export const selectWebhookSecrets = statement({
  name: 'select_webhook_secrets',
  takes: { webhookIds: list(int) },
  gives: { webhookId: int, sealed: bytes, signsFrom: instant, endsAt: orNull(instant) },
  text: `SELECT webhook_id AS "webhookId", sealed, signs_from AS "signsFrom", ends_at AS "endsAt"
    FROM webhook_secrets WHERE webhook_id = ANY (:webhookIds::bigint[]) ORDER BY signs_from DESC, id DESC`,
})

export const selectOwnSecrets = statement({
  name: 'select_own_webhook_secrets',
  takes: { webhookIds: list(int), now: instant },
  gives: { id: int, webhookId: int, createdAt: instant, signsFrom: instant, endsAt: orNull(instant) },
  text: `SELECT id, webhook_id AS "webhookId", created_at AS "createdAt", signs_from AS "signsFrom",
     ends_at AS "endsAt" FROM webhook_secrets
   WHERE webhook_id = ANY (:webhookIds::bigint[]) AND (ends_at IS NULL OR ends_at > :now) ORDER BY id`,
})

/** Its own that signs now; none while a client's does. */
export const selectSigningSecret = statement({
  name: 'select_signing_secret',
  takes: { webhookId: int, now: instant },
  gives: { createdAt: instant },
  text: `SELECT created_at AS "createdAt" FROM webhook_secrets
   WHERE webhook_id = :webhookId AND signs_from <= :now AND (ends_at IS NULL OR ends_at > :now)
     ORDER BY signs_from DESC, id DESC LIMIT 1`,
})

/** Whose next secret has not begun to sign. */
export const selectSwitches = statement({
  name: 'select_secret_switches',
  takes: { webhookIds: list(int), now: instant },
  gives: { webhookId: int, signsFrom: instant },
  text: `SELECT webhook_id AS "webhookId", min(signs_from) AS "signsFrom" FROM webhook_secrets
    WHERE webhook_id = ANY (:webhookIds::bigint[]) AND signs_from > :now GROUP BY webhook_id`,
})

/**
 * Without a custom secret, the client's living secrets sign, the one that began last first. A client without
 * one has a row without a secret. From FAPI 2.0 on they sign nothing.
 */
export const selectClientSecretsOfWebhook = statement({
  name: 'select_client_secrets_of_webhook',
  takes: { webhookIds: list(int) },
  gives: {
    webhookId: int,
    clientId: sure(text),
    sealed: orNull(bytes),
    signsFrom: orNull(instant),
    endsAt: orNull(instant),
  },
  text: `SELECT w.id AS "webhookId", w.client_id AS "clientId", s.sealed, s.signs_from AS "signsFrom",
    least(s.expires_at, c.fapi2_from) AS "endsAt"
   FROM webhooks w JOIN clients c ON c.id = w.client_id
     LEFT JOIN client_secrets s ON s.client_id = w.client_id AND s.revoked_at IS NULL
   WHERE w.id = ANY (:webhookIds::bigint[])
     ORDER BY s.signs_from DESC, s.id DESC`,
})

export const selectDefaultClient = statement({
  name: 'select_default_client',
  takes: { branchId: int, environment: text },
  gives: { id: text },
  text: `SELECT id FROM clients WHERE branch_id = :branchId AND environment = :environment
    AND status = 'active' AND fapi2_from IS NULL
    ORDER BY created_at, id LIMIT 1`,
})

/** Whose secret is to sign a webhook, with its profile as it stays until the commit. */
export const lockSigner = statement({
  name: 'lock_signing_client',
  takes: { id: text },
  gives: { name: text, fapi2From: orNull(instant) },
  text: 'SELECT name, fapi2_from AS "fapi2From" FROM clients WHERE id = :id FOR SHARE',
})

const webhookSecretRow = { id: int, webhookId: int, sealed: bytes }

export const selectSealedWebhookSecrets = statement({
  name: 'select_sealed_webhook_secrets',
  takes: { id: int, most: int },
  gives: webhookSecretRow,
  text: `SELECT id, webhook_id AS "webhookId", sealed FROM webhook_secrets WHERE id > :id ORDER BY id
    LIMIT :most
    FOR UPDATE`,
})

export const readSealedWebhookSecrets = statement({
  name: 'read_sealed_webhook_secrets',
  takes: { id: int, most: int },
  gives: webhookSecretRow,
  text: `SELECT id, webhook_id AS "webhookId", sealed FROM webhook_secrets WHERE id > :id ORDER BY id
    LIMIT :most`,
})

export const updateSealedWebhookSecret = statement({
  name: 'update_sealed_webhook_secret',
  takes: { id: int, sealed: bytes },
  text: 'UPDATE webhook_secrets SET sealed = :sealed WHERE id = :id',
})

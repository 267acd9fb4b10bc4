/** A registered URL of a branch (a tenant). What belongs to another branch does not exist for the caller. */
import { type Act, recordAct } from '../../audit/audit.ts'
import { after, day } from '../../clock.ts'
import type { Vault } from '../../crypto/vault.ts'
import type { Sql } from '../../database/database.ts'
import type { SealedTable } from '../../database/reseal.ts'
import { findUrlProblem, type GuardPolicy } from '../../network/address-guard.ts'
import { Conflict, Invalid, NotFound } from '../../problem.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import type { Branch } from '../events/branch.ts'
import { defaultKinds, type Kind } from '../events/kind.ts'
import { selectAddress } from './built-in-receivers.sql.ts'
import { followWebhook } from './cursor.ts'
import { deleteAllHeaders } from './webhook-headers.sql.ts'
import { changeHeaders, readHeaderNames } from './webhook-headers.ts'
import {
  findSettingsProblems,
  namesOf,
  refuseStrangeHost,
  type SettingsChange,
  settle,
  usualSettings,
  type WebhookSettings,
} from './webhook-settings.ts'
import * as table from './webhooks.sql.ts'

export const webhooksPerBranch = 100
export const secretCharacters = { least: 8, most: 200 }
/** How long the old secret stays in `webhook-signature` after the new one has begun to sign. */
export const overlapMs = day
/** A secret that came with the webhook has always signed: the client's never did. */
const always = new Date(0)
export const latestSwitchMs = 7 * day

export interface Webhook extends WebhookSettings {
  readonly id: number
  readonly branchId: number
  readonly environment: Environment
  readonly clientId: string | null
  readonly url: string
  readonly kinds: readonly Kind[]
  readonly state: 'active' | 'paused' | 'disabled' | 'deleted'
  readonly disabledReason: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface WebhookDraft extends SettingsChange {
  readonly url: string
  readonly secret: string | undefined
  readonly kinds: readonly Kind[] | undefined
}

export interface RegistrationDependencies {
  readonly db: Sql
  readonly vault: Vault
  readonly policy: GuardPolicy
}

const secretPurpose = (webhookId: number) => `webhook-secret:${webhookId}`

export async function createWebhook(
  { db, vault, policy }: RegistrationDependencies,
  { branchId, environment }: Branch,
  clientId: string | undefined,
  draft: WebhookDraft,
  act: Act,
): Promise<Webhook> {
  const kinds = draft.kinds ?? defaultKinds
  checkDraft({ ...draft, kinds }, policy)
  const settings = settle(usualSettings, draft, kinds)
  return db.transaction(async (sql) => {
    await sql.query(table.lockBranch, { branchId })
    const [count] = await sql.query(table.countWebhooks, { branchId, environment })
    if (Number(count?.living) >= webhooksPerBranch) {
      throw new Conflict(
        `A branch may register ${webhooksPerBranch} webhooks. Delete one that is no longer needed.`,
      )
    }
    const signer = clientId ?? (await findDefaultClient(sql, branchId, environment))
    const secretProblem = draft.secret === undefined ? await findSignerProblem(sql, signer) : undefined
    if (secretProblem !== undefined) throw new Invalid([{ field: 'secret', problem: secretProblem }])
    const registered = { branchId, environment, clientId: signer, url: draft.url, kinds, now: act.at }
    const webhook = await sql.one(table.insertWebhook, { ...registered, ...settings })
    await followWebhook(sql, webhook, act.at)
    if (draft.headers) await changeHeaders(sql, vault, webhook.id, draft.headers, act.at)
    if (draft.secret !== undefined) await addSecret(sql, vault, webhook.id, draft.secret, always, act.at)
    await recordAct(sql, act, 'webhook.created', subjectOf(webhook), { branchId, url: draft.url })
    return webhook
  })
}

export async function getWebhook(sql: Sql, { branchId, environment }: Branch, id: number): Promise<Webhook> {
  const [webhook] = await sql.query(table.selectWebhook, { id, branchId, environment })
  if (!webhook) throw absent(id)
  return webhook
}

export function listWebhooksByIds(sql: Sql, ids: readonly number[]): Promise<Webhook[]> {
  return sql.query(table.selectWebhooksByIds, { ids })
}

export function listWebhooks(
  sql: Sql,
  { branchId, environment }: Branch,
  afterId: number,
  most: number,
): Promise<Webhook[]> {
  return sql.query(table.selectWebhooks, { branchId, environment, afterId, most })
}

export async function updateWebhook(
  { db, vault, policy }: RegistrationDependencies,
  webhook: Webhook,
  change: Partial<WebhookDraft>,
  act: Act,
): Promise<Webhook> {
  return db.transaction(async (sql) => {
    const before = await lockWebhook(sql, webhook)
    const { url = before.url, kinds = before.kinds, secret, headers } = change
    checkDraft({ ...change, url, kinds, secret }, { ...policy, ...(await findBuiltIn(sql, webhook)) })
    if (url !== before.url) refuseStrangeHost(before.url, url, await headersOf(sql, webhook), headers)
    const settings = settle(before, change, kinds)
    const changed = { id: webhook.id, url, kinds, ...settings, now: act.at }
    const updated = await sql.one(table.updateWebhook, changed)
    await followWebhook(sql, webhook, act.at)
    if (headers) await changeHeaders(sql, vault, webhook.id, headers, act.at)
    if (secret !== undefined) await rotateIn(sql, vault, webhook.id, secret, act.at, act.at)
    await recordAct(sql, act, 'webhook.updated', subjectOf(webhook), { url, kinds, ...namesOf(change) })
    return updated
  })
}

/**
 * The URL is forgotten by the interface at once, and what waits with it; what was delivered stays in the
 * history.
 */
export async function deleteWebhook(db: Sql, webhook: Webhook, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [deleted] = await sql.query(table.updateWebhookState, {
      id: webhook.id,
      state: 'deleted',
      disabledReason: null,
      now: act.at,
    })
    if (!deleted) throw absent(webhook.id)
    await followWebhook(sql, webhook, act.at)
    await sql.query(deleteAllHeaders, { webhookId: webhook.id })
    await recordAct(sql, act, 'webhook.deleted', subjectOf(webhook))
  })
}

/** Resuming also re-enables a webhook that was disabled; what waited goes out. */
export async function setWebhookState(
  db: Sql,
  webhook: Webhook,
  state: 'active' | 'paused',
  act: Act,
): Promise<Webhook> {
  return db.transaction(async (sql) => {
    const [changed] = await sql.query(table.updateWebhookState, {
      id: webhook.id,
      state,
      disabledReason: null,
      now: act.at,
    })
    if (!changed) throw absent(webhook.id)
    await followWebhook(sql, changed, act.at)
    await recordAct(sql, act, state === 'paused' ? 'webhook.paused' : 'webhook.resumed', subjectOf(webhook))
    return changed
  })
}

export async function disableWebhook(sql: Sql, webhookId: number, reason: string, act: Act): Promise<void> {
  const [disabled] = await sql.query(table.updateActiveToDisabled, {
    id: webhookId,
    reason,
    now: act.at,
  })
  if (!disabled) return
  await followWebhook(sql, disabled, act.at)
  await recordAct(sql, act, 'webhook.disabled', `webhook:${webhookId}`, { reason })
}

/**
 * The new secret signs from `switchAt` on; both are in `webhook-signature` from now until a day after the
 * switch.
 */
export async function rotateWebhookSecret(
  { db, vault }: RegistrationDependencies,
  webhook: Webhook,
  secret: string,
  switchAt: Date,
  act: Act,
): Promise<void> {
  const problem = findSecretProblem(secret)
  if (problem) throw new Invalid([{ field: 'secret', problem }])
  if (switchAt < act.at || switchAt > after(act.at, latestSwitchMs)) {
    throw new Invalid([
      { field: 'switchAt', problem: 'must lie between now and seven days from now (epoch milliseconds)' },
    ])
  }
  await db.transaction(async (sql) => {
    await rotateIn(sql, vault, webhook.id, secret, switchAt, act.at)
    await recordAct(sql, act, 'webhook.secret_rotated', subjectOf(webhook), { switchAt: switchAt.getTime() })
  })
}

/** Of those whose new secret waits for its moment: when it begins to sign. */
export async function findSwitches(
  sql: Sql,
  webhooks: readonly Pick<Webhook, 'id'>[],
  now: Date,
): Promise<ReadonlyMap<number, Date>> {
  const webhookIds = webhooks.map((webhook) => webhook.id)
  const rows = await sql.query(table.selectSwitches, { webhookIds, now })
  return new Map(rows.map((row) => [row.webhookId, row.signsFrom]))
}

/** Since when it has had the secret of its own that signs now; undefined while a client's does. */
export async function findSecretAge(sql: Sql, { id }: Webhook, now: Date): Promise<Date | undefined> {
  const [secret] = await sql.query(table.selectSigningSecret, { webhookId: id, now })
  return secret?.createdAt
}

/** A secret of a webhook's own. */
export interface OwnSecret {
  readonly id: number
  readonly webhookId: number
  readonly createdAt: Date
  readonly signsFrom: Date
  readonly endsAt: Date | null
}

/** Those that have not ended. */
export function listOwnSecrets(
  sql: Sql,
  webhooks: readonly Pick<Webhook, 'id'>[],
  now: Date,
): Promise<OwnSecret[]> {
  return sql.query(table.selectOwnSecrets, { webhookIds: webhooks.map(({ id }) => id), now })
}

export function openWebhookSecret(vault: Vault, webhookId: number, sealed: Buffer): string | undefined {
  return vault.open(secretPurpose(webhookId), sealed)
}

export const sealedWebhookSecrets: SealedTable<{ id: number; webhookId: number; sealed: Buffer }> = {
  select: table.selectSealedWebhookSecrets,
  read: table.readSealedWebhookSecrets,
  update: table.updateSealedWebhookSecret,
  purposeOf: (row) => secretPurpose(row.webhookId),
}

async function rotateIn(
  sql: Sql,
  vault: Vault,
  webhookId: number,
  secret: string,
  switchAt: Date,
  now: Date,
): Promise<void> {
  const id = await addSecret(sql, vault, webhookId, secret, switchAt, now)
  await sql.query(table.endOlderSecrets, { webhookId, id, endsAt: after(switchAt, overlapMs) })
}

async function addSecret(
  sql: Sql,
  vault: Vault,
  webhookId: number,
  secret: string,
  signsFrom: Date,
  now: Date,
): Promise<number> {
  const sealed = vault.seal(secretPurpose(webhookId), secret)
  return (await sql.one(table.insertWebhookSecret, { webhookId, sealed, signsFrom, now })).id
}

async function findSignerProblem(sql: Sql, clientId: string | undefined): Promise<string | undefined> {
  if (clientId === undefined) return 'is missing: this branch has no client whose secret could sign'
  const { name, fapi2From } = await sql.one(table.lockSigner, { id: clientId })
  if (fapi2From === null) return undefined
  return `is missing: the client ${name} has FAPI 2.0 from ${fapi2From.toISOString()} on, and then no secret that could sign`
}

/** Whether a webhook without a secret of its own would be signed. */
export async function hasSigner(sql: Sql, { branchId, environment }: Branch): Promise<boolean> {
  return (await findDefaultClient(sql, branchId, environment)) !== undefined
}

async function findDefaultClient(
  sql: Sql,
  branchId: number,
  environment: Environment,
): Promise<string | undefined> {
  const [client] = await sql.query(table.selectDefaultClient, { branchId, environment })
  return client?.id
}

/** As it is now, and as it stays until the commit. */
async function lockWebhook(sql: Sql, { id }: Webhook): Promise<Webhook> {
  const webhook = await holdWebhook(sql, id)
  if (!webhook) throw absent(id)
  return webhook
}

/** Of any branch; undefined when it is gone. */
export async function holdWebhook(sql: Sql, id: number): Promise<Webhook | undefined> {
  const [webhook] = await sql.query(table.lockWebhook, { id })
  return webhook
}

/** Its own address in the gateway, if it has one: it may keep it, and no other webhook may take it. */
async function findBuiltIn(sql: Sql, { id }: Webhook): Promise<Pick<GuardPolicy, 'builtIn'>> {
  const [address] = await sql.query(selectAddress, { webhookId: id })
  return address ? { builtIn: address.url } : {}
}

async function headersOf(sql: Sql, webhook: Webhook): Promise<readonly string[]> {
  return readHeaderNames(sql, webhook)
}

function checkDraft(draft: WebhookDraft & { readonly kinds: readonly Kind[] }, policy: GuardPolicy): void {
  const { url, secret, kinds } = draft
  const urlProblem = findUrlProblem(url, policy)
  const secretProblem = secret === undefined ? undefined : findSecretProblem(secret)
  const problems = [
    ...(urlProblem ? [{ field: 'url', problem: urlProblem }] : []),
    ...(secretProblem ? [{ field: 'secret', problem: secretProblem }] : []),
    ...findSettingsProblems(draft, kinds),
  ]
  if (problems.length > 0) throw new Invalid(problems)
}

function findSecretProblem(secret: string): string | undefined {
  const { length } = [...secret]
  const { least, most } = secretCharacters
  if (length < least || length > most) return `must have ${least} to ${most} characters`
  return undefined
}

/** Also for one that was deleted a moment ago. */
function absent(id: number): NotFound {
  return new NotFound(`This branch has no webhook ${id}.`)
}

function subjectOf(webhook: Webhook): string {
  return `webhook:${webhook.id}`
}

/** Secrets are no fields: each is made by itself, and shown once. */
import { randomLetters } from '../crypto/random.ts'
import { tokenHint } from '../crypto/token.ts'
import { findProviderById, replaceCredential } from '../identity/provider.ts'
import { getClient } from '../partners/client.ts'
import { addSecret, revokeSecret } from '../partners/client-secret.ts'
import { Invalid, NotFound } from '../problem.ts'
import { rotateServiceSecret } from '../services/service.ts'
import { holdWebhook, rotateWebhookSecret } from '../webhooks/subscriptions/webhook.ts'
import type { Work } from './kind.ts'

/** As strong as a client's. */
export const webhookSecretLetters = 43

interface MadeSecret {
  readonly secret: string
  readonly hint: string
}

/** Beside the one that there is. */
export async function makeClientSecret(
  { sql, vault, act, refuseOwn }: Work,
  clientId: string,
): Promise<MadeSecret & { readonly id: number }> {
  const client = await getClient(sql, clientId)
  await refuseOwn(client.branchId)
  const { id, secret } = await addSecret(sql, vault, client, act)
  return { id, secret: secret.text, hint: tokenHint(secret) }
}

export async function revokeClientSecret(work: Work, clientId: string, secretId: number): Promise<void> {
  const client = await getClient(work.sql, clientId)
  await work.refuseOwn(client.branchId)
  await revokeSecret(work.sql, client, secretId, work.reasoned())
}

/** The only one: the one of before is refused from now on. */
export async function makeServiceSecret({ sql, act }: Work, serviceId: string): Promise<MadeSecret> {
  const { secret } = await rotateServiceSecret(sql, serviceId, act)
  return { secret: secret.text, hint: tokenHint(secret) }
}

/** It signs from now on; the one of before stays good for a day. */
export async function makeWebhookSecret(
  { sql, vault, guard, act, refuseOwn }: Work,
  id: string,
): Promise<MadeSecret> {
  const webhook = await holdWebhook(sql, Number(id))
  if (!webhook) throw new NotFound(`There is no webhook ${id}.`)
  await refuseOwn(webhook.branchId)
  const secret = randomLetters(webhookSecretLetters)
  await rotateWebhookSecret({ db: sql, vault, policy: guard }, webhook, secret, act.at, act)
  return { secret, hint: secret.slice(-4) }
}

/** Which the provider gave. Used from the next sign-in on; it is never shown. */
export async function setProviderCredential(
  { sql, vault, act }: Work,
  id: string,
  credential: string,
): Promise<{ readonly credentialAt: number }> {
  const provider = await findProviderById(sql, Number(id))
  if (!provider) throw new NotFound(`There is no identity provider ${id}.`)
  const given = { proof: provider.proof, credential }
  await replaceCredential(sql, vault, provider, given, act).catch((error: unknown) => {
    throw error instanceof Invalid
      ? new Invalid(error.fields.map(({ problem }) => ({ field: 'credential', problem })))
      : error
  })
  return { credentialAt: act.at.getTime() }
}

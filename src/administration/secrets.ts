/** Secrets are no fields: each is made by itself, and shown once. */
import { tokenHint } from '../crypto/token.ts'
import { getClient } from '../partners/client.ts'
import { addSecret, revokeSecret } from '../partners/client-secret.ts'
import { rotateServiceSecret } from '../services/service.ts'
import type { Work } from './kind.ts'

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

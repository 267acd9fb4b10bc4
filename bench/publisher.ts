/** A system of the brokerage that publishes, and the branches that hear of it. */
import { createService } from '../src/services/service.ts'
import { createWebhook } from '../src/webhooks/subscriptions/webhook.ts'
import { makeClient } from './brokerage.ts'
import type { GatewayUnderTest } from './gateway.ts'
import type { PrintedRequest } from './load.ts'
import { type Credentials, jsonPost } from './requests.ts'

const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })
const policy = { allowLoopback: true, ports: [] }

/** An approved partner with webhooks at these addresses. */
export async function makeBranch(
  { db, vault }: Pick<GatewayUnderTest, 'db' | 'vault'>,
  urls: readonly string[],
): Promise<number> {
  const { client } = await makeClient(db, vault)
  const branch = { branchId: client.branchId, environment: 'live' as const }
  for (const url of urls) {
    const webhook = { url, secret: undefined, kinds: undefined }
    await createWebhook({ db, vault, policy }, branch, client.id, webhook, act())
  }
  return client.branchId
}

export async function makePublisher({ db }: Pick<GatewayUnderTest, 'db'>): Promise<Credentials> {
  const { service, secret } = await createService(db, 'bench', 'live', act(), { mayProvision: ['core'] })
  return { id: service.id, secret: secret.text }
}

let lastId = 0

/**
 * An event of a transaction of its own, about 250 bytes when delivered. The e-mail address carries what a
 * receiver shall read.
 */
export function makeEvent(branchId: number, note = 'holder'): object {
  return {
    transactionId: ++lastId,
    clearingAccount: 'CLEARING-ACCOUNT-'.padEnd(60, '0'),
    type: 'TRANSACTION',
    action: 'SUBMITTED',
    branchId,
    email: `${note}@example.com`.padStart(60, 'a'),
    amount: 1250.5,
    direction: 'DEPOSIT',
  }
}

export function publishRequest(
  publisher: Credentials,
  events: readonly object[],
  key?: string,
): PrintedRequest {
  return jsonPost(
    '/internal/v1/events',
    publisher,
    { events },
    key === undefined ? [] : [`idempotency-key: ${key}`],
  )
}

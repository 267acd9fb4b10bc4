/** How far a partner has come on a site, told by what is in the database and by nothing that was clicked. */
import { after, day } from '../../../clock.ts'
import type { Context } from '../../../context.ts'
import type { Sql } from '../../../database/database.ts'
import { type Client, listClients } from '../../../partners/client.ts'
import type { Delivery, DeliveryFilter } from '../../../webhooks/deliveries/delivery.ts'
import { searchDeliveries } from '../../../webhooks/deliveries/delivery-search.ts'
import { findVerifiedAt } from '../../../webhooks/subscriptions/built-in-receiver.ts'
import { listWebhooks, type Webhook, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import type { Member } from '../../gates/gates.ts'

/** Of the newest deliveries. */
const newestShown = 10

export interface Progress {
  readonly clients: readonly Client[]
  readonly webhooks: readonly Webhook[]
  readonly newest: readonly Delivery[]
  /** When the sandbox's built-in receiver first found a signature right; read for beginners. */
  readonly verifiedAt: Date | undefined
  /** Whether a receiver took an event. */
  readonly isDelivered: boolean
}

/** A partner that has had a webhook, or a client without one, for so long knows the way. */
const webhookMs = 7 * day
const clientMs = 30 * day

export async function readProgress(context: Context, { branch }: Member): Promise<Progress> {
  const { db, environment, clock } = context
  const webhooks = await listWebhooks(db, branch, 0, webhooksPerBranch)
  const clients = (await listClients(db, branch.branchId)).filter(
    (client) => client.environment === environment,
  )
  const newest = await findNewest(db, webhooks, {}, newestShown)
  const isDelivered = newest.some(({ state }) => state === 'delivered')
  const progress = { clients, webhooks, newest, verifiedAt: undefined, isDelivered }
  if (!isBeginner(progress, clock.now())) return progress
  return {
    ...progress,
    verifiedAt: await findVerifiedAt(db, branch.branchId),
    // What was delivered once stays so, whatever failed since.
    isDelivered: isDelivered || (await findNewest(db, webhooks, { state: 'delivered' }, 1)).length > 0,
  }
}

async function findNewest(sql: Sql, webhooks: readonly Webhook[], filter: DeliveryFilter, most: number) {
  return (await searchDeliveries(sql, webhooks, filter, undefined, most)).deliveries
}

/** What guides beginners is shown to them: also for a while after they have done everything. */
export function isBeginner({ clients, webhooks }: Progress, now: Date): boolean {
  const isYoung = (ageMs: number) => (each: Client | Webhook) => each.createdAt > after(now, -ageMs)
  return webhooks.every(isYoung(webhookMs)) && clients.every(isYoung(clientMs))
}

/** What a member sees first: whether all is well, and what happened last. */
import { listClients } from '../../partners/client.ts'
import { findAhead } from '../../webhooks/delivery.ts'
import { searchDeliveries } from '../../webhooks/delivery-search.ts'
import { listWebhooks, webhooksPerBranch } from '../../webhooks/webhook.ts'
import { judgeHealth, readHealth } from '../../webhooks/webhook-health.ts'
import { printCount } from '../frame/health-words.ts'
import { type Html, html } from '../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../frame/live.ts'
import { facts } from '../frame/parts.ts'
import type { Visit } from '../frame/visit.ts'
import { type Member, memberWatcher } from '../gates.ts'
import { printDeliveries } from './delivery-table.ts'
import { sendPortal } from './portal.ts'
import { printTroubles } from './troubles.ts'

const shown = 10

export async function showOverview(visit: Visit, member: Member) {
  const print = () => printState(visit, member)
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  const { partner } = member
  return sendPortal(visit, member, {
    title: partner.name,
    live: true,
    body: html`<h1>${partner.name}</h1>${livePart(visit.request, await print())}`,
  })
}

async function printState({ context }: Visit, { branch, partner, home }: Member): Promise<Html> {
  const { db, environment } = context
  const webhooks = await listWebhooks(db, branch, 0, webhooksPerBranch)
  const health = await readHealth(db, webhooks)
  const unwell = webhooks.filter((webhook) => judgeHealth(webhook, health.get(webhook.id)) !== 'healthy')
  const sum = (of: 'waiting' | 'exhausted') => [...health.values()].reduce((total, each) => total + each[of], 0)
  const clients = (await listClients(db, partner.branchId)).filter((client) => client.environment === environment)
  const ids = webhooks.map((webhook) => webhook.id)
  const newest = await searchDeliveries(db, ids, {}, Number.MAX_SAFE_INTEGER, shown)
  return html`${await printTroubles(db, unwell, health, home)}<section class="card">
${facts([
  ['Branch', partner.branchId],
  ['Clients', clients.length],
  ['Webhooks', html`<a href="${home}/webhooks">${webhooks.length}</a>`],
  [
    'Needs attention',
    unwell.length === 0 ? 'none' : unwell.map((each) => html`<a href="${home}/webhooks/${each.id}">${each.url}</a> `),
  ],
  ['Waiting', html`<a href="${home}/deliveries?state=unfinished">${printCount(sum('waiting'))}</a>`],
  ['Failed after all retries', html`<a href="${home}/deliveries?state=exhausted">${printCount(sum('exhausted'))}</a>`],
  ['Refresh access', partner.refreshAccess ? 'yes' : 'no'],
])}</section>
<h2>Newest deliveries</h2>
${printDeliveries(newest.deliveries, webhooks, home, await findAhead(db, newest.deliveries))}`
}

/**
 * The partner's search: its own events, deliveries, webhooks and members, on this site. What is another
 * partner's is as if it were not there.
 */
import type { Context } from '../../../context.ts'
import type { Sql } from '../../../database/database.ts'
import { listMembers } from '../../../partners/partner.ts'
import { NotFound } from '../../../problem.ts'
import {
  type EventDelivery,
  getDelivery,
  listDeliveriesOfEvent,
} from '../../../webhooks/deliveries/delivery.ts'
import { parseDeliveryId } from '../../../webhooks/engine/delivery-id.ts'
import { branchKey } from '../../../webhooks/events/branch-signal.ts'
import { printEventId } from '../../../webhooks/events/event.ts'
import { findEntry, parseEventName } from '../../../webhooks/events/event-search.ts'
import { listWebhooks, type Webhook, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { html } from '../../frame/html.ts'
import { answerSearch, type Group, type Hit } from '../../frame/search.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { stateLabels } from '../../parts/health-words.ts'
import { sendPortal } from './portal.ts'

const hint =
  'Look for an event (evt_…), a delivery such as 12-345, an entity such as transaction:42, a member, or a webhook by number or address.'

export function showSearch(visit: Visit, member: Member) {
  const find = (sought: string) => findOwn(visit.context, member, sought)
  return answerSearch(visit, hint, find, (body) =>
    sendPortal(visit, member, { title: 'Search', section: '/search', body }),
  )
}

async function findOwn(
  { db: sql, eventSearches }: Context,
  member: Member,
  sought: string,
): Promise<Group[]> {
  const name = parseEventName(sought)
  if (name !== undefined) {
    // Each looks at every day that is kept.
    await eventSearches.count(branchKey(member.branch))
    return [await findDeliveriesOf(sql, member, name)]
  }
  const id = sought.replace(/^#/, '')
  if (parseDeliveryId(id)) return [{ label: 'Deliveries', hits: await findOne(sql, member, id) }]
  // A number is an id: as a part of names and addresses it would find whatever has such a digit.
  const number = /^#?(\d+)$/.exec(sought)?.[1]
  if (number !== undefined)
    return [{ label: 'Webhooks', hits: await findReceivers(sql, member, ({ id }) => String(id) === number) }]
  const text = sought.toLowerCase()
  const isAt = ({ url, description }: Webhook) => `${url}\n${description}`.toLowerCase().includes(text)
  return [
    { label: 'Deliveries', hits: entityHits(member, sought) },
    { label: 'Webhooks', hits: await findReceivers(sql, member, isAt) },
    { label: 'Members', hits: await findMembers(sql, member, sought) },
    { label: 'Partners', hits: findPartners(member, sought) },
  ]
}

async function findDeliveriesOf(sql: Sql, { branch, home }: Member, name: string): Promise<Group> {
  const event = await findEntry(sql, branch, name)
  const deliveries = event ? await listDeliveriesOfEvent(sql, branch, event.uid) : []
  const hits = deliveries.map((each) => deliveryHit(home, each))
  return { label: event ? `Deliveries of ${printEventId(event.uid)}` : 'Deliveries', hits }
}

function deliveryHit(home: string, { id, state, url }: Pick<EventDelivery, 'id' | 'state' | 'url'>): Hit {
  return {
    path: `${home}/deliveries/${id}`,
    title: `Delivery ${id}`,
    about: `${stateLabels[state]} · ${url}`,
  }
}

async function findOne(sql: Sql, { branch, home }: Member, id: string): Promise<Hit[]> {
  const found = await getDelivery(sql, branch, id).catch((error: unknown) => {
    if (error instanceof NotFound) return undefined
    throw error
  })
  if (!found) return []
  const about = html`${stateLabels[found.state]} · ${found.kind} ${found.action} ·
    <code>${found.entity}</code>`
  return [{ path: `${home}/deliveries/${id}`, title: `Delivery ${id}`, about }]
}

/** Whether there are any is for the log to say. */
function entityHits({ home }: Member, text: string): Hit[] {
  if (!/^[a-z_]+:[\w:-]{1,80}$/i.test(text)) return []
  const entity = text.toLowerCase()
  return [{ path: `${home}/deliveries?${new URLSearchParams({ entity })}`, title: `Deliveries of ${entity}` }]
}

async function findReceivers(sql: Sql, { branch, home }: Member, isSought: (webhook: Webhook) => boolean) {
  const webhooks = await listWebhooks(sql, branch, 0, webhooksPerBranch)
  return webhooks
    .filter(isSought)
    .map(({ id, url }) => ({ path: `${home}/webhooks/${id}`, title: url, about: `webhook ${id}` }))
}

/** Members are shown where the partner is led: on the live site. */
async function findMembers(sql: Sql, { branch, partner, home }: Member, text: string): Promise<Hit[]> {
  if (branch.environment !== 'live') return []
  const sought = text.toLowerCase()
  return (await listMembers(sql, partner))
    .filter(({ username, name }) => `${username}\n${name}`.toLowerCase().includes(sought))
    .map(({ username, name }) => ({ path: `${home}/members`, title: name, about: username }))
}

function findPartners({ partners, partner }: Member, text: string): Hit[] {
  const sought = text.toLowerCase()
  return partners
    .filter(({ branchId, name }) => branchId !== partner.branchId && name.toLowerCase().includes(sought))
    .map(({ branchId, name }) => ({ path: `/partner/${branchId}`, title: name, about: `branch ${branchId}` }))
}

/** The operator's search: partners, people, receivers, events and deliveries, of all partners. */
import type { Database, Sql } from '../../../database/database.ts'
import { findPartners } from '../../../partners/partner-search.ts'
import { findUsers } from '../../../users/user-search.ts'
import { listDeliveriesOfEvent } from '../../../webhooks/deliveries/delivery.ts'
import { type FoundDelivery, findAnyDelivery } from '../../../webhooks/deliveries/delivery-search.ts'
import { parseDeliveryId } from '../../../webhooks/engine/delivery-id.ts'
import { printEventId } from '../../../webhooks/events/event.ts'
import { findNamedEvent, findWebhooksAt, parseEventName } from '../../../webhooks/events/event-search.ts'
import { html } from '../../frame/html.ts'
import { answerSearch, type Group } from '../../frame/search.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { stateLabels } from '../../parts/health-words.ts'
import { type Reader, sendConsole } from '../frame/console.ts'
import { lockWords } from '../people/users.ts'

const shown = 10
const hint =
  'Look for an event (evt_…), a delivery such as 12-345, a person, a partner, or a webhook by number or address.'

export function showSearch(visit: Visit, operator: Operator) {
  const find = (sought: string) => findAll(visit.context.db, sought, operator)
  return answerSearch(visit, hint, find, (body) =>
    sendConsole(visit, operator, { title: 'Search', section: '/console/search', body }),
  )
}

async function findAll(db: Database, sought: string, reader: Reader): Promise<Group[]> {
  const name = parseEventName(sought)
  if (name !== undefined) return [await findDeliveriesOf(db, name)]
  const id = sought.replace(/^#/, '')
  return [
    ...(parseDeliveryId(id) ? [await findDelivery(db, id)] : []),
    await findPartnersNamed(db, sought),
    ...(reader.may('users.see') ? [await findPeople(db, sought)] : []),
    await findReceivers(db, sought),
  ]
}

async function findDelivery(sql: Sql, id: string): Promise<Group> {
  const found = await findAnyDelivery(sql, id)
  return { label: 'Deliveries', hits: found ? [deliveryHit(found)] : [] }
}

function deliveryHit({ delivery: { id, state, entity, webhookId }, url, partner }: FoundDelivery) {
  return {
    path: `/console/webhooks/${webhookId}`,
    title: `Delivery ${id}`,
    about: html`${stateLabels[state]} · <code>${entity}</code> · ${url} · ${partner}`,
  }
}

/** The event has no page of its own here: its deliveries lead to their webhooks, and it to its partner. */
async function findDeliveriesOf(db: Database, name: string): Promise<Group> {
  const event = await findNamedEvent(db, name)
  if (!event) return { label: 'Event', hits: [] }
  const deliveries = await listDeliveriesOfEvent(db, event, event.uid)
  const about = html`${event.kind} ${event.action} · <code>${event.entity}</code> · ${event.environment}`
  const own = { path: `/console/partners/${event.branchId}`, title: printEventId(event.uid), about }
  const hits = deliveries.map(({ id, state, webhookId, url }) => ({
    path: `/console/webhooks/${webhookId}`,
    title: `Delivery ${id}`,
    about: `${stateLabels[state]} · ${url}`,
  }))
  return { label: 'Event', hits: [own, ...hits] }
}

async function findPartnersNamed(sql: Sql, text: string): Promise<Group> {
  const { partners, before } = await findPartners(sql, { text }, shown)
  const hits = partners.map(({ branchId, name, status }) => ({
    path: `/console/partners/${branchId}`,
    title: name,
    about: `branch ${branchId} · ${status}`,
  }))
  return {
    label: 'Partners',
    hits,
    more: before === undefined ? undefined : `/console/partners?${new URLSearchParams({ q: text })}`,
  }
}

async function findPeople(sql: Sql, text: string): Promise<Group> {
  const { users, after } = await findUsers(sql, { text }, shown)
  const hits = users.map(({ id, username, name, lockedBy }) => ({
    path: `/console/users/${id}`,
    title: name,
    about: html`${username} · <code>${id}</code>${lockedBy !== null && ` · ${lockWords[lockedBy]}`}`,
  }))
  return { label: 'People', hits, more: after && `/console/users?${new URLSearchParams({ q: text })}` }
}

async function findReceivers(sql: Sql, text: string): Promise<Group> {
  const webhooks = await findWebhooksAt(sql, text, shown)
  const hits = webhooks.map(({ id, url, partner, environment }) => ({
    path: `/console/webhooks/${id}`,
    title: url,
    about: `webhook ${id} · ${partner} · ${environment}`,
  }))
  return { label: 'Webhooks', hits }
}

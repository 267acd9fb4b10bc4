/**
 * What members find: their partner's own, on this site. What is another partner's is as if it were not there.
 */
import { findCallsByRequest } from '../../../partners/calls.ts'
import { listClients } from '../../../partners/client.ts'
import { listMembers } from '../../../partners/partner.ts'
import { NotFound } from '../../../problem.ts'
import { getDelivery, listDeliveriesOfEvent } from '../../../webhooks/deliveries/delivery.ts'
import { parseDeliveryId } from '../../../webhooks/engine/delivery-id.ts'
import { branchKey } from '../../../webhooks/events/branch-signal.ts'
import { findEntry, parseEntity, parseEventName } from '../../../webhooks/events/event-search.ts'
import { listWebhooks, type Webhook, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { html } from '../../frame/html.ts'
import { printMoment } from '../../frame/parts.ts'
import { parseRequestId, type SearchKind } from '../../frame/search.ts'
import type { Member } from '../../gates/gates.ts'
import { stateLabel } from '../../parts/health-words.ts'

const callsShown = 10

type PortalKind<Sought = unknown> = SearchKind<Member, Sought>

const idOf = (text: string) => text.replace(/^#/, '')

/** What is neither an id nor a number: a number as a part of names would find whatever has such a digit. */
function parsePart(text: string): string | undefined {
  const isId = parseEventName(text) !== undefined || parseDeliveryId(idOf(text)) || /^#?\d+$/.test(text)
  return isId ? undefined : text.toLowerCase()
}

const includes = (sought: string, ...texts: readonly string[]) =>
  texts.join('\n').toLowerCase().includes(sought)

const events: PortalKind<string> = {
  label: 'Deliveries of the event',
  parse: parseEventName,
  async find({ db, eventSearches }, name, { branch, home }) {
    // Each looks at every day that is kept.
    await eventSearches.count(branchKey(branch))
    const event = await findEntry(db, branch, name)
    const deliveries = event ? await listDeliveriesOfEvent(db, branch, event.uid) : []
    const hits = deliveries.map((each) => ({
      path: `${home}/deliveries/${each.id}`,
      title: `Delivery ${each.id}`,
      about: `${stateLabel(each)} · ${each.url}`,
    }))
    return { hits }
  },
}

const deliveries: PortalKind<string> = {
  label: 'Deliveries',
  parse: (text) => (parseDeliveryId(idOf(text)) ? idOf(text) : undefined),
  async find({ db }, id, { branch, home }) {
    const found = await getDelivery(db, branch, id).catch((error: unknown) => {
      if (error instanceof NotFound) return undefined
      throw error
    })
    if (!found) return { hits: [] }
    const about = html`${stateLabel(found)} · ${found.kind} ${found.action} ·
      <code>${found.entity}</code>`
    return { hits: [{ path: `${home}/deliveries/${id}`, title: `Delivery ${id}`, about }] }
  },
}

/** Whether there are any is for the log to say. */
const entities: PortalKind<string> = {
  label: 'Deliveries',
  parse: parseEntity,
  async find(_context, entity, { home }) {
    const path = `${home}/deliveries?${new URLSearchParams({ entity })}`
    return { hits: [{ path, title: `Deliveries of ${entity}` }] }
  },
}

const calls: PortalKind<string> = {
  label: 'API calls',
  parse: parseRequestId,
  async find({ db, clock }, requestId, { branch, home }) {
    const found = await findCallsByRequest(db, requestId, branch, clock.now(), callsShown)
    const hits = found.map(({ id, at, method, route, status }) => ({
      path: `${home}/calls/${id}`,
      title: `${method} ${route}`,
      about: html`${status} · ${printMoment(at)}`,
    }))
    return { hits }
  },
}

const webhooks: PortalKind<(webhook: Webhook) => boolean> = {
  label: 'Webhooks',
  parse(text) {
    const number = /^#?(\d+)$/.exec(text)?.[1]
    if (number !== undefined) return ({ id }) => String(id) === number
    const part = parsePart(text)
    return part === undefined ? undefined : ({ url, description }) => includes(part, url, description)
  },
  async find({ db }, isSought, { branch, home }) {
    const found = (await listWebhooks(db, branch, 0, webhooksPerBranch)).filter((each) => isSought(each))
    const hits = found.map(({ id, url }) => ({
      path: `${home}/webhooks/${id}`,
      title: url,
      about: `webhook ${id}`,
    }))
    return { hits }
  },
}

const clients: PortalKind<string> = {
  label: 'Clients',
  parse: parsePart,
  async find({ db }, part, { branch, home }) {
    const found = (await listClients(db, branch.branchId)).filter(
      ({ environment, id, name }) => environment === branch.environment && includes(part, id, name),
    )
    const hits = found.map(({ id, name }) => ({
      path: `${home}/clients/${id}`,
      title: name,
      about: html`<code>${id}</code>`,
    }))
    return { hits }
  },
}

/** Members are shown where the partner is led: on the live site. */
const members: PortalKind<string> = {
  label: 'Members',
  parse: parsePart,
  async find({ db }, part, { branch, partner, home }) {
    if (branch.environment !== 'live') return { hits: [] }
    const found = (await listMembers(db, partner)).filter(({ username, name }) =>
      includes(part, username, name),
    )
    const hits = found.map(({ username, name }) => ({
      path: `${home}/members`,
      title: name,
      about: username,
    }))
    return { hits }
  },
}

const partners: PortalKind<string> = {
  label: 'Partners',
  parse: parsePart,
  async find(_context, part, { partners: all, partner }) {
    const found = all.filter(({ branchId, name }) => branchId !== partner.branchId && includes(part, name))
    const hits = found.map(({ branchId, name }) => ({
      path: `/partner/${branchId}`,
      title: name,
      about: `branch ${branchId}`,
    }))
    return { hits }
  },
}

/** In the order in which they are shown. */
export const portalKinds: readonly PortalKind[] = [
  ...[events, deliveries, entities, calls],
  ...[webhooks, clients, members, partners],
]

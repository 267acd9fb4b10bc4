/** What operators find: each kind with the permission that it takes, and where a hit leads. */
import { findRequest } from '../../../audit/entry-search.ts'
import { findCallsByRequest } from '../../../partners/calls.ts'
import { findClientsNamed } from '../../../partners/client.ts'
import { findPartners } from '../../../partners/partner-search.ts'
import { findUsers } from '../../../users/user-search.ts'
import type { Permission } from '../../../vocabulary/permission.ts'
import { listDeliveriesOfEvent } from '../../../webhooks/deliveries/delivery.ts'
import { findAnyDelivery } from '../../../webhooks/deliveries/delivery-search.ts'
import { parseDeliveryId } from '../../../webhooks/engine/delivery-id.ts'
import { printEventId } from '../../../webhooks/events/event.ts'
import {
  findNamedEvent,
  findNewestOfEntity,
  findWebhooksAt,
  parseEntity,
  parseEventName,
} from '../../../webhooks/events/event-search.ts'
import { html } from '../../frame/html.ts'
import { printMoment } from '../../frame/parts.ts'
import { parseRequestId, parseWords, type SearchKind } from '../../frame/search.ts'
import { stateLabel } from '../../parts/health-words.ts'
import { findNamesIn, printSentence } from '../audit/entry-sentences.ts'
import type { Reader } from '../frame/console.ts'
import { lockWords } from '../people/users.ts'

const shown = 10

interface ConsoleKind<Sought = unknown> extends SearchKind<Reader, Sought> {
  readonly permission: Permission
}

/** The event has no page of its own here: its deliveries lead to their webhooks, and it to its partner. */
const events: ConsoleKind<string> = {
  label: 'Event',
  permission: 'webhooks.see',
  parse: parseEventName,
  async find({ db }, name) {
    const event = await findNamedEvent(db, name)
    if (!event) return { hits: [] }
    const deliveries = await listDeliveriesOfEvent(db, event, event.uid)
    const about = html`${event.kind} ${event.action} · <code>${event.entity}</code> · ${event.environment}`
    const own = { path: `/console/partners/${event.branchId}`, title: printEventId(event.uid), about }
    const hits = deliveries.map((each) => ({
      path: `/console/webhooks/${each.webhookId}`,
      title: `Delivery ${each.id}`,
      about: `${stateLabel(each)} · ${each.url}`,
    }))
    return { hits: [own, ...hits] }
  },
}

const deliveries: ConsoleKind<string> = {
  label: 'Deliveries',
  permission: 'webhooks.see',
  parse(text) {
    const id = text.replace(/^#/, '')
    return parseDeliveryId(id) ? id : undefined
  },
  async find({ db }, id) {
    const found = await findAnyDelivery(db, id)
    if (!found) return { hits: [] }
    const { delivery, url, partner } = found
    const about = html`${stateLabel(delivery)} · <code>${delivery.entity}</code> · ${url} · ${partner}`
    return { hits: [{ path: `/console/webhooks/${delivery.webhookId}`, title: `Delivery ${id}`, about }] }
  },
}

/** Of each partner that has it: the newest event leads to its deliveries. */
const entities: ConsoleKind<string> = {
  label: 'Entities, by their newest event',
  permission: 'webhooks.see',
  parse: parseEntity,
  async find({ db }, entity) {
    const found = await findNewestOfEntity(db, entity, shown)
    const hits = found.map(({ uid, kind, action, branchId, environment, createdAt }) => ({
      path: `/console/search?${new URLSearchParams({ q: printEventId(uid) })}`,
      title: entity,
      about: html`${kind} ${action} · branch ${branchId} · ${environment} · ${printMoment(createdAt)}`,
    }))
    return { hits }
  },
}

const calls: ConsoleKind<string> = {
  label: 'API calls',
  permission: 'partners.see',
  parse: parseRequestId,
  async find({ db, clock }, requestId) {
    const found = await findCallsByRequest(db, requestId, undefined, clock.now(), shown)
    const hits = found.map(({ id, branchId, environment, at, method, route, status }) => ({
      path: `/console/partners/${branchId}/calls/${id}`,
      title: `${method} ${route}`,
      about: html`${status} · branch ${branchId} · ${environment} · ${printMoment(at)}`,
    }))
    return { hits }
  },
}

const requests: ConsoleKind<string> = {
  label: 'Audit entries of this request',
  permission: 'audit.see',
  parse: parseRequestId,
  async find({ db }, requestId, reader) {
    const entries = await findRequest(db, requestId, shown)
    const names = await findNamesIn(db, entries, reader)
    const all = `/console/audit?${new URLSearchParams({ request: requestId })}`
    const hits = entries.map((entry) => ({
      path: all,
      title: html`${printSentence(entry, names)}`,
      about: html`${printMoment(entry.at)}`,
    }))
    return { hits }
  },
}

const partners: ConsoleKind<string> = {
  label: 'Partners',
  permission: 'partners.see',
  parse: parseWords,
  async find({ db }, text) {
    const found = await findPartners(db, { text }, shown)
    const hits = found.partners.map(({ branchId, name, status }) => ({
      path: `/console/partners/${branchId}`,
      title: name,
      about: `branch ${branchId} · ${status}`,
    }))
    const more = found.before !== undefined
    return { hits, more: more ? `/console/partners?${new URLSearchParams({ q: text })}` : undefined }
  },
}

const clients: ConsoleKind<string> = {
  label: 'Clients',
  permission: 'partners.see',
  parse: parseWords,
  async find({ db }, text) {
    const found = await findClientsNamed(db, text, shown)
    const hits = found.map(({ id, name, branchId, environment, partner }) => ({
      path: `/console/partners/${branchId}#client-${id}`,
      title: name,
      about: html`<code>${id}</code> · ${partner} · ${environment}`,
    }))
    return { hits }
  },
}

const people: ConsoleKind<string> = {
  label: 'People',
  permission: 'users.see',
  parse: parseWords,
  async find({ db }, text) {
    const { users, after } = await findUsers(db, { text }, shown)
    const hits = users.map(({ id, username, name, lockedBy }) => ({
      path: `/console/users/${id}`,
      title: name,
      about: html`${username} · <code>${id}</code>${lockedBy !== null && ` · ${lockWords[lockedBy]}`}`,
    }))
    return { hits, more: after && `/console/users?${new URLSearchParams({ q: text })}` }
  },
}

const webhooks: ConsoleKind<string> = {
  label: 'Webhooks',
  permission: 'webhooks.see',
  parse: parseWords,
  async find({ db }, text) {
    const found = await findWebhooksAt(db, text, shown)
    const hits = found.map(({ id, url, partner, environment }) => ({
      path: `/console/webhooks/${id}`,
      title: url,
      about: `webhook ${id} · ${partner} · ${environment}`,
    }))
    return { hits }
  },
}

/** In the order in which they are shown. */
export const consoleKinds: readonly ConsoleKind[] = [
  ...[events, deliveries, entities, calls, requests],
  ...[partners, clients, people, webhooks],
]

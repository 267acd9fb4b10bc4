/**
 * What is around a partner, the newest few of each with the way to all: its webhooks, failed calls,
 * connections, and what was done.
 */
import { listNewestAbout } from '../../../audit/audit.ts'
import type { Sql } from '../../../database/database.ts'
import { listCalls } from '../../../partners/calls.ts'
import type { Client } from '../../../partners/client.ts'
import { failureCauses } from '../../../partners/failure-causes.ts'
import { environments } from '../../../vocabulary/environment.ts'
import { listLanes } from '../../../webhooks/health/lane-health.ts'
import { printAgo } from '../../frame/ago.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge } from '../../frame/parts.ts'
import { conditionBadge } from '../../parts/health-words.ts'
import { printNewest } from '../audit/entry-sentences.ts'
import { linkTo, mayFollow, type Reader } from '../frame/console.ts'
import { printDuration } from '../webhooks/lane-words.ts'

interface SectionContext {
  readonly db: Sql
  readonly now: Date
  /** Of each kind. */
  readonly most: number
  readonly operator: Reader
}

export async function printWebhooksOf({ db, now, most }: SectionContext, branchId: number): Promise<Html> {
  const found = await listLanes(db, { partner: branchId }, now, { most: most + 1, skip: 0 })
  const items = found.slice(0, most).map(
    (lane) => html`<li><div><a href="/console/webhooks/${lane.id}">${lane.url}</a> ${conditionBadge(lane)}
      ${lane.environment === 'sandbox' && html`<span class="badge sandbox">Sandbox</span>`}
${
  lane.failingSince !== null &&
  html`<br><span class="faint">failing for
  ${printDuration(now.getTime() - lane.failingSince.getTime())}, ${lane.failures.toLocaleString('en')} in a
  row</span> <a href="/console/webhooks/${lane.id}/incident">Why it fails</a>`
}</div></li>`,
  )
  if (items.length === 0) return html`<p class="empty">It has registered none.</p>`
  return html`<ul class="tokens">${items}</ul>
<p><a href="/console/webhooks?partner=${branchId}">All its webhooks</a></p>`
}

export async function printFailedCallsOf({ db, now, most }: SectionContext, branchId: number): Promise<Html> {
  const found = await Promise.all(
    environments.map((environment) =>
      listCalls(db, { branchId, environment }, { onlyFailed: true }, now, most),
    ),
  )
  const calls = found.flat().sort((one, other) => other.at.getTime() - one.at.getTime())
  const items = calls.slice(0, most).map(
    ({ method, route, status, cause, at }) =>
      html`<li><div>${badge('bad', String(status))} <strong>${method} ${route}</strong>
          <span class="faint">${printAgo(at, now)}</span><br>${failureCauses[cause ?? 'other'].problem}</div></li>`,
  )
  if (items.length === 0) return html`<p class="empty">No call has failed in the last 24 hours.</p>`
  return html`<ul class="tokens">${items}</ul>
<p><a href="/console/partners/${branchId}/calls">All its API calls</a></p>`
}

const clientsAtMost = 20

type ClientName = Pick<Client, 'id' | 'name'>

/** Who allowed or ended the access of its clients: what the log has of it. */
export async function printConnectionsOf(context: SectionContext, all: readonly ClientName[]): Promise<Html> {
  const { db, most, operator } = context
  const clients = all.slice(0, clientsAtMost)
  const entries = await listNewestAbout(db, clients.map(subjectOf), most, 'authorization')
  const links = clients.map((client) => {
    const query = new URLSearchParams({ action: 'authorization', subject: subjectOf(client) })
    const path = `/console/audit?${query.toString()}`
    return mayFollow(operator, path) && html`<a href="${path}">All of ${client.name}</a> `
  })
  return printNewest(context, entries, links)
}

function subjectOf({ id }: ClientName): string {
  return `client:${id}`
}

export async function printActsOn(context: SectionContext, branchId: number, clients: readonly ClientName[]) {
  const { db, most, operator } = context
  const subjects = [`branch:${branchId}`, ...clients.slice(0, clientsAtMost).map(subjectOf)]
  const found = await listNewestAbout(db, subjects, 4 * most)
  const entries = found.filter(({ action }) => !action.startsWith('authorization.')).slice(0, most)
  const all = `/console/audit?subject=branch:${branchId}`
  return printNewest(
    context,
    entries,
    mayFollow(operator, all) && linkTo(operator, all, 'All in the audit log'),
  )
}

/** Why one of the partner's webhooks fails, with the means to find out whether it is mended. */

import type { Sql } from '../../../database/database.ts'
import { type Probe, startProbe } from '../../../webhooks/deliveries/probe.ts'
import { getLane, type LaneHealth } from '../../../webhooks/health/lane-health.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { crumbs } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { conditionBadge } from '../../parts/health-words.ts'
import {
  addressOfProbe,
  type IncidentLinks,
  printIncident,
  readIncident,
  readProbe,
} from '../../parts/incident.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from './forms.ts'
import { printTryNow } from './webhook-acts.ts'
import { webhookOf } from './webhooks.ts'

export function showIncident(visit: Visit, member: Member) {
  const print = () => printPart(visit, member)
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  return sendIncident(visit, member)
}

/** However often the button is pressed, one attempt; and not more in a minute than a receiver can stand. */
export async function probe(visit: Visit, member: Member, form: Submission<typeof forms.probe>) {
  const { context } = visit
  const webhook = await webhookOf(visit, member)
  const make = async (db: Sql) => {
    await context.probes.count(String(webhook.id))
    return startProbe(db, webhook, member.act)
  }
  const pathOf = (made: Probe) => addressOfProbe(`${member.home}/webhooks/${webhook.id}/incident`, made)
  const { path } = await makeOnce(context, member, form, make, pathOf)
  return leadToDone(visit, member, path, {
    text: 'One attempt is made now.',
    link: { path: `${member.home}/deliveries?webhook=${webhook.id}`, label: 'Its deliveries' },
  })
}

async function laneOf(visit: Visit, member: Member): Promise<LaneHealth> {
  const { id } = await webhookOf(visit, member)
  return getLane(visit.context.db, id, visit.context.clock.now())
}

async function sendIncident(visit: Visit, member: Member) {
  const lane = await laneOf(visit, member)
  const part = await printPart(visit, member)
  return sendPortal(visit, member, {
    title: `Why webhook ${lane.id} fails`,
    section: '/webhooks',
    live: true,
    body: html`${crumbs([
      { path: `${member.home}/webhooks`, label: 'Webhooks' },
      { path: `${member.home}/webhooks/${lane.id}`, label: `Webhook ${lane.id}` },
    ])}
<h1>Why webhook ${lane.id} fails</h1>
<p><code>${lane.url}</code></p>
${printActs(lane, member)}
${livePart(visit, part)}`,
  })
}

/** What would be refused is not offered. */
function printActs(webhook: LaneHealth, member: Member): Html {
  const { dueAt, troubleSince: since } = webhook
  const here = `${member.home}/webhooks/${webhook.id}`
  const probes = webhook.state === 'active' && dueAt !== null
  const recover = since ? `${here}/recover?since=${since.toISOString().slice(0, 19)}Z` : `${here}/recover`
  if (!member.isDeveloper)
    return html`<div class="acts"><a class="button" href="${member.home}/signature">Check a
      signature</a></div>`
  return html`<div class="acts">
${printTryNow(webhook, member)}${probes && member.forms.button(forms.probe, 'Probe now')}
${webhook.state !== 'paused' && html`<a class="button" href="${recover}">Recover…</a>`}
<a class="button" href="${member.home}/test?webhook=${webhook.id}">Send a test event</a>
<a class="button" href="${member.home}/signature">Check a signature</a></div>
<p class="small">${probes ? 'A probe is one attempt at once, of the delivery that is next: it counts as one of its attempts.' : offWords(webhook)}</p>`
}

function offWords({ state }: LaneHealth): string {
  if (state === 'disabled')
    return 'It is disabled, so nothing is sent. Recover resumes it and sends queued deliveries.'
  return state === 'paused'
    ? 'It is paused, so nothing is sent until you resume it.'
    : 'Nothing is queued that could be probed with.'
}

async function printPart(visit: Visit, member: Member): Promise<Html> {
  const lane = await laneOf(visit, member)
  const incident = await readIncident(visit.context, lane, readProbe(visit))
  return html`<p>${conditionBadge(lane)}</p>${printIncident(incident, linksOf(lane, member))}`
}

function linksOf({ id }: LaneHealth, { home }: Member): IncidentLinks {
  return {
    delivery: (delivery) => html`<a href="${home}/deliveries/${delivery}">${delivery}</a>`,
    entity: (name) =>
      html`<a href="${home}/deliveries?webhook=${id}&entity=${encodeURIComponent(name)}">${name}</a>`,
    recovery: (replay) => `${home}/webhooks/${id}/replays/${replay}`,
    signature: `${home}/signature`,
  }
}

/** What a member sees first: whether all is well, how far they have come, and what happened last. */
import { isWell } from '../../../webhooks/health/condition.ts'
import { readHealth } from '../../../webhooks/health/webhook-health.ts'
import { type Html, html } from '../../frame/html.ts'
import { printList } from '../../frame/list.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { facts } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { conditionBadge, printCount } from '../../parts/health-words.ts'
import { deliveryList, describeDeliveries } from '../deliveries/delivery-table.ts'
import { sendPortal } from '../frame/portal.ts'
import { isBeginner, type Progress, readProgress } from '../frame/progress.ts'
import { printFirstProgram } from '../reference/first-program.ts'
import { printTroubles } from '../webhooks/troubles.ts'
import { openTryForm, printChecklist } from './onboarding.ts'

export async function showOverview(visit: Visit, member: Member) {
  const { context, request } = visit
  const tryForm = openTryForm(visit, member)
  const print = (progress: Progress) => printState(visit, member, progress, tryForm)
  if (asksForStream(request))
    return streamPart(visit, memberWatcher(visit, member), async () =>
      print(await readProgress(context, member)),
    )
  const { partner } = member
  const progress = await readProgress(context, member)
  return sendPortal(visit, member, {
    title: partner.name,
    live: true,
    scripts: ['copy.js'],
    body: html`<h1>${partner.name}</h1>${livePart(visit, await print(progress))}
${member.isDeveloper && isBeginner(progress, context.clock.now()) && printFirstProgram(visit, member, progress)}`,
  })
}

async function printState(
  visit: Visit,
  member: Member,
  progress: Progress,
  tryForm: Html | undefined,
): Promise<Html> {
  const { db, clock } = visit.context
  const { partner, home } = member
  const { webhooks, clients, newest } = progress
  const health = [...(await readHealth(db, webhooks, clock.now())).values()]
  const unwell = health.filter(({ condition }) => !isWell(condition))
  const sum = (of: 'waiting' | 'exhausted') => health.reduce((total, each) => total + each[of], 0)
  return html`${await printTroubles(db, unwell, member)}
${member.isDeveloper && isBeginner(progress, clock.now()) && printChecklist(visit, member, progress, tryForm)}<section class="card">
${facts([
  ['Branch', partner.branchId],
  ['Clients', clients.length],
  ['Webhooks', html`<a href="${home}/webhooks">${webhooks.length}</a>`],
  [
    'Needs attention',
    unwell.length > 0
      ? html`<ul>${unwell.map((each) => html`<li><a href="${home}/webhooks/${each.id}">${each.url}</a> ${conditionBadge(each)}</li>`)}</ul>`
      : sum('waiting') > 0
        ? `Nothing: ${printCount(sum('waiting'))} are being sent`
        : 'none',
  ],
  ['Waiting', html`<a href="${home}/deliveries?state=unfinished">${printCount(sum('waiting'))}</a>`],
  [
    'Failed after all retries',
    html`<a href="${home}/deliveries?state=exhausted">${printCount(sum('exhausted'))}</a>`,
  ],
  ['Refresh access', partner.refreshAccess ? 'yes' : 'no'],
])}</section>
<h2>Newest deliveries</h2>
${printList(deliveryList({ home }), await describeDeliveries(db, member.branch, newest, webhooks, clock.now()))}`
}

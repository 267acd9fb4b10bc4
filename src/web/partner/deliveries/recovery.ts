/**
 * After a receiver was mended: say since when it had trouble, see what would happen, start. The progress is
 * that of a replay.
 */

import type { Sql } from '../../../database/database.ts'
import type { Form } from '../../../http/form.ts'
import { Invalid } from '../../../problem.ts'
import { cut } from '../../../text/cut.ts'
import {
  countRecovery,
  findRecoveryRefusal,
  type RecoveryCount,
  startRecovery as start,
} from '../../../webhooks/deliveries/recovery.ts'
import type { Replay } from '../../../webhooks/deliveries/replay.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { type Draft, findProblem, formNotice, textField } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { parseMoment } from '../../frame/moment.ts'
import { csrfField } from '../../frame/page.ts'
import { crumbs } from '../../frame/parts.ts'
import { makeOnce, onceField, type SubmissionResult } from '../../frame/submission.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { printCount } from '../../parts/health-words.ts'
import { sendPortal } from '../frame/portal.ts'
import { webhookOf } from '../webhooks/webhooks.ts'
import { printTotal } from './replays.ts'

/** Step one asks since when; with a moment in the address, step two says what would happen. */
export function showRecovery(visit: Visit, member: Member) {
  const query = visit.request.query as Form
  return sendWizard(visit, member, readSince([query.since].flat()[0]), undefined)
}

export async function startRecovery(visit: Visit, member: Member, form: SubmittedForm) {
  const { context } = visit
  const webhook = await webhookOf(visit, member)
  const text = readSince(form.find('since'))
  const since = parseSince(text, member.act.at)
  if (!(since instanceof Date)) return sendWizard(visit, member, text, undefined)
  const here = `${member.home}/webhooks/${webhook.id}`
  const make = (db: Sql) => start(db, webhook, since, member.act)
  let result: SubmissionResult<Replay> | undefined
  const problem = await findProblem(async () => {
    result = await makeOnce(context, member, form, make, ({ id }) => `${here}/replays/${id}`)
  })
  if (problem) return sendWizard(visit, member, text, problem)
  return leadToDone(visit, member, result!.path, {
    text: 'The recovery has started.',
    link: { path: `${here}/incident`, label: 'Why it failed' },
  })
}

function readSince(text: string | undefined): string | undefined {
  return cut(text?.trim() ?? '', 100) || undefined
}

function parseSince(text: string | undefined, now: Date): Date | Invalid {
  const moment = parseMoment(text)
  if (moment instanceof Date && moment <= now) return moment
  return new Invalid([
    { field: 'since', problem: 'must be a moment that has passed, such as 2026-03-02T10:00' },
  ])
}

async function sendWizard(visit: Visit, member: Member, text: string | undefined, refused: Draft['problem']) {
  const { db, clock } = visit.context
  const webhook = await webhookOf(visit, member)
  const since = text === undefined ? undefined : parseSince(text, clock.now())
  const problem = refused ?? (since instanceof Invalid ? since : undefined)
  const count =
    since instanceof Date && !problem ? await countRecovery(db, webhook, since, clock.now()) : undefined
  return sendPortal(visit, member, {
    title: 'Recover',
    section: '/webhooks',
    status: problem?.status ?? 200,
    body: html`${crumbs([
      { path: `${member.home}/webhooks`, label: 'Webhooks' },
      { path: `${member.home}/webhooks/${webhook.id}`, label: `Webhook ${webhook.id}` },
    ])}
<h1>Recover</h1>
${printChoice(webhook, { values: { since: text }, problem }, member)}
${count && printConfirmation(webhook, text!, count, await findRecoveryRefusal(db, webhook), member)}`,
  })
}

function printChoice({ id, url }: Webhook, draft: Draft, { home }: Member): Html {
  const hint =
    'What failed after all retries from then on, and was not delivered or skipped since, is sent again.'
  return html`<section class="card"><h2>1. Since when</h2>
<p>When <code>${url}</code> answers again, what waits for its next attempt need not wait any longer.</p>
${formNotice(draft, 'since')}
<form method="get" action="${home}/webhooks/${id}/recover">
${textField(draft, {
  name: 'since',
  label: 'Trouble since (UTC)',
  hint,
  more: html`type="datetime-local"
  required`,
})}
<button class="primary">Count</button></form></section>`
}

function printConfirmation(
  webhook: Webhook,
  since: string,
  { total, waiting }: RecoveryCount,
  refusal: string | undefined,
  { home, csrf }: Member,
): Html {
  if (refusal !== undefined) return printRefusal(refusal, `${home}/webhooks/${webhook.id}`)
  return html`<section class="card created" role="status"><h2>2. Start</h2>
<ul>
<li>Waiting for the next attempt, and tried now: <strong>${printCount(waiting)}</strong></li>
<li>Failed after all retries, and sent again in the order of each entity:
  <strong>${printTotal(total)}</strong></li>
${webhook.state === 'disabled' && html`<li>The webhook is disabled: it is resumed.</li>`}
</ul>
<form method="post" action="${home}/webhooks/${webhook.id}/recover/start">${csrfField(csrf)}${onceField()}<input type="hidden" name="since" value="${since}"><button class="primary">Recover</button></form></section>`
}

/**
 * What stands in the way is shown where it can be removed: the webhook is resumed on its page, what runs is
 * stopped among the replays.
 */
function printRefusal(refusal: string, webhook: string): Html {
  return html`<section class="card" role="status"><h2>2. Start</h2><p>${refusal}</p>
<div class="acts"><a class="button" href="${webhook}">Webhook</a><a class="button"
  href="${webhook}/replay">Replays</a></div></section>`
}

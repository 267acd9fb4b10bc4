/**
 * After a receiver was mended: say since when it had trouble, see what would happen, start. The progress is
 * that of a replay.
 */

import type { Sql } from '../../../database/database.ts'
import { type FieldProblem, Invalid } from '../../../problem.ts'
import {
  countRecovery,
  findRecoveryRefusal,
  type RecoveryCount,
  startRecovery as start,
} from '../../../webhooks/deliveries/recovery.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { crumbs } from '../../frame/parts.ts'
import { readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { printCount } from '../../parts/health-words.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from '../webhooks/forms.ts'
import { webhookOf } from '../webhooks/webhooks.ts'
import { printTotal } from './replays.ts'

export async function startRecovery(
  visit: Visit,
  member: Member,
  form: Submission<typeof forms.startRecovery>,
) {
  const webhook = await webhookOf(visit, member)
  const { since } = form.values
  if (!since || since > member.act.at) throw new Invalid([notPassed])
  const here = `${member.home}/webhooks/${webhook.id}`
  const make = (db: Sql) => start(db, webhook, since, member.act)
  const { path } = await makeOnce(visit.context, member, form, make, ({ id }) => `${here}/replays/${id}`)
  return leadToDone(visit, member, path, {
    text: 'The recovery has started.',
    link: { path: `${here}/incident`, label: 'Why it failed' },
  })
}

const notPassed: FieldProblem = {
  field: 'since',
  problem: 'must be a moment that has passed, such as 2026-03-02T10:00',
}

/** Step one asks since when; with a moment in the address, step two says what would happen. */
export async function showRecovery(visit: Visit, member: Member) {
  const { db, clock } = visit.context
  const webhook = await webhookOf(visit, member)
  const question = readQuestion(visit.query, forms.trouble, ({ since }) =>
    since && since > clock.now() ? [notPassed] : [],
  )
  const { since } = question.values
  const count = since && !question.isWrong && (await countRecovery(db, webhook, since, clock.now()))
  return sendPortal(visit, member, {
    title: 'Recover',
    section: '/webhooks',
    ...(question.isWrong && { status: question.status }),
    body: html`${crumbs([
      { path: `${member.home}/webhooks`, label: 'Webhooks' },
      { path: `${member.home}/webhooks/${webhook.id}`, label: `Webhook ${webhook.id}` },
    ])}
<h1>Recover</h1>
${printChoice(webhook, question.view, member)}
${count && printConfirmation(webhook, question.view.valueOf('since'), count, await findRecoveryRefusal(db, webhook), member)}`,
  })
}

function printChoice({ id, url }: Webhook, view: FormView<typeof forms.trouble>, { home }: Member): Html {
  return html`<section class="card"><h2>1. Since when</h2>
<p>When <code>${url}</code> answers again, what waits for its next attempt need not wait any longer.</p>
<form method="get" action="${home}/webhooks/${id}/recover">
${view.field('since')}
${view.button('Count', { look: 'primary' })}</form></section>`
}

function printConfirmation(
  webhook: Webhook,
  since: string,
  { total, waiting }: RecoveryCount,
  refusal: string | undefined,
  member: Member,
): Html {
  if (refusal !== undefined) return printRefusal(refusal, `${member.home}/webhooks/${webhook.id}`)
  return html`<section class="card created" role="status"><h2>2. Start</h2>
<ul>
<li>Waiting for the next attempt, and tried now: <strong>${printCount(waiting)}</strong></li>
<li>Failed after all retries, and sent again in the order of each entity:
  <strong>${printTotal(total)}</strong></li>
${webhook.state === 'disabled' && html`<li>The webhook is disabled: it is resumed.</li>`}
</ul>
${member.forms.button(forms.startRecovery, 'Recover', { standing: { since }, buttonLook: 'primary' })}</section>`
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

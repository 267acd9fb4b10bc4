/** Sending again what was sent before: choose, see how many, start, watch. */

import type { Sql } from '../../../database/database.ts'
import type { Form } from '../../../http/form.ts'
import { type FieldProblem, Invalid } from '../../../problem.ts'
import { cut } from '../../../text/cut.ts'
import {
  cancelReplay as cancel,
  countReplay,
  findReplayRefusal,
  getReplay,
  listReplays,
  type Replay,
  replayedAtMost,
  type Selection,
  startReplay as start,
} from '../../../webhooks/deliveries/replay.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, findProblem, formNotice, textField } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { parseMoment } from '../../frame/moment.ts'
import { csrfField } from '../../frame/page.ts'
import { badge, crumbs, facts, printMoment, type Tone, table } from '../../frame/parts.ts'
import { makeOnce, onceField, type SubmissionResult } from '../../frame/submission.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'
import { webhookOf } from '../webhooks/webhooks.ts'

const fields = ['from', 'to', 'entity', 'failed'] as const
type Values = Readonly<Record<(typeof fields)[number], string | undefined>>

/** Step one is the empty form; with a choice in the address, step two says how many there are. */
export async function showReplay(visit: Visit, member: Member) {
  const query = visit.request.query as Form
  const values = readValues((name) => [query[name]].flat()[0])
  const isAsked = Object.values(values).some((value) => value !== undefined)
  return sendWizard(visit, member, values, isAsked, undefined)
}

export async function startReplay(visit: Visit, member: Member, form: SubmittedForm) {
  const webhook = await webhookOf(visit, member)
  const values = readValues((name) => form.find(name))
  const selection = parseSelection(values)
  if (selection instanceof Invalid) return sendWizard(visit, member, values, true, undefined)
  const here = `${member.home}/webhooks/${webhook.id}`
  const make = (db: Sql) => start(db, webhook, selection, member.act)
  let result: SubmissionResult<Replay> | undefined
  const problem = await findProblem(async () => {
    result = await makeOnce(visit.context, member, form, make, ({ id }) => `${here}/replays/${id}`)
  })
  if (problem) return sendWizard(visit, member, values, true, problem)
  return leadToDone(visit, member, result!.path, {
    text: 'The replay has started.',
    link: { path: `${member.home}/deliveries?webhook=${webhook.id}`, label: 'Its deliveries' },
  })
}

export async function cancelReplay(visit: Visit, member: Member) {
  const { db } = visit.context
  const webhook = await webhookOf(visit, member)
  const asked = idOf(paramsOf(visit.request).replay)
  const { id } = await db.transaction((sql) => cancel(sql, webhook, asked, member.act))
  const here = `${member.home}/webhooks/${webhook.id}`
  const link = { path: `${here}/replay`, label: 'Replay deliveries' }
  return leadToDone(visit, member, `${here}/replays/${id}`, { text: 'It is stopped.', link })
}

export async function showProgress(visit: Visit, member: Member) {
  const webhook = await webhookOf(visit, member)
  const id = idOf(paramsOf(visit.request).replay)
  const { selection } = await getReplay(visit.context.db, webhook, id)
  const isRecovery = selection.since !== undefined
  const name = isRecovery ? 'Recovery' : 'Replay'
  const here = `${member.home}/webhooks/${webhook.id}`
  const stop = html`<form method="post" action="${here}/replays/${id}/cancel">${csrfField(member.csrf)}<button
    class="danger">Stop it</button></form>
<p class="small">Stopping leaves alone what was sent already, and what is tried again.</p>`
  const beginning = isRecovery
    ? { path: `${here}/recover`, label: 'Recover' }
    : { path: `${here}/replay`, label: 'Replay' }
  const print = async () => {
    const replay = await getReplay(visit.context.db, webhook, id)
    return html`${printProgress(replay)}${replay.state === 'running' && member.isDeveloper && stop}`
  }
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  return sendPortal(visit, member, {
    title: `${name} ${id}`,
    section: '/webhooks',
    live: true,
    body: html`${crumbs([...trail(webhook, member), ...(member.isDeveloper ? [beginning] : [])])}
<h1>${name} ${id}</h1>
${livePart(visit.request, await print())}`,
  })
}

function readValues(find: (name: string) => string | undefined): Values {
  const read = (name: string) => cut(find(name)?.trim() ?? '', 100) || undefined
  return { from: read('from'), to: read('to'), entity: read('entity'), failed: read('failed') }
}

function parseSelection({ from, to, entity, failed }: Values): Selection | Invalid {
  const problems: FieldProblem[] = []
  const instant = (field: 'from' | 'to', text: string | undefined) => {
    const moment = parseMoment(text)
    if (moment !== 'wrong') return moment?.getTime()
    problems.push({ field, problem: 'must be a moment such as 2026-03-02T10:00' })
    return undefined
  }
  const selection = {
    from: instant('from', from),
    to: instant('to', to),
    entity,
    failed: failed === 'yes' || undefined,
  }
  if (problems.length === 0 && Object.values(selection).every((each) => each === undefined))
    problems.push({
      field: 'selection',
      problem: 'must choose by time, by entity, or what failed after all retries',
    })
  if (selection.from !== undefined && selection.to !== undefined && selection.from >= selection.to)
    problems.push({ field: 'from', problem: 'must be earlier than the end' })
  return problems.length > 0 ? new Invalid(problems) : selection
}

function trail({ id }: Webhook, { home }: Member) {
  return [
    { path: `${home}/webhooks`, label: 'Webhooks' },
    { path: `${home}/webhooks/${id}`, label: `Webhook ${id}` },
  ]
}

async function sendWizard(
  visit: Visit,
  member: Member,
  values: Values,
  isAsked: boolean,
  refused: Draft['problem'],
) {
  const { db } = visit.context
  const webhook = await webhookOf(visit, member)
  const selection = isAsked ? parseSelection(values) : undefined
  const problem = refused ?? (selection instanceof Invalid ? selection : undefined)
  const total =
    selection && !problem ? (await countReplay(db, webhook, selection as Selection)).total : undefined
  return sendPortal(visit, member, {
    title: 'Replay deliveries',
    section: '/webhooks',
    status: problem?.status ?? 200,
    body: html`${crumbs(trail(webhook, member))}
<h1>Replay deliveries</h1>
${printChoice(webhook, { values, problem }, member)}
${total !== undefined && printConfirmation(webhook, values, total, await findReplayRefusal(db, webhook), member)}
${printReplays(await listReplays(db, webhook), member)}`,
  })
}

function printChoice({ id, url }: Webhook, draft: Draft, { home }: Member): Html {
  const moment = html`type="datetime-local"`
  return html`<section class="card"><h2>1. Choose</h2><p>Of what was meant for <code>${url}</code>:</p>
${formNotice(draft, 'from', 'to', 'entity')}
<form method="get" action="${home}/webhooks/${id}/replay">
${textField(draft, { name: 'from', label: 'From (UTC)', more: moment })}
${textField(draft, { name: 'to', label: 'Until (UTC)', more: moment })}
${textField(draft, { name: 'entity', label: 'Entity', hint: 'Such as transaction:42', more: html`maxlength="${fieldLengths['/partner/:branch/webhooks/:id/replay/start'].entity}" spellcheck="false"` })}
<label class="tick"><input type="checkbox" name="failed" value="yes"${
    draft.values.failed === 'yes' &&
    html`
  checked`
  }><span>Only what failed after all retries</span></label>
<button class="primary">Count them</button></form></section>`
}

function printConfirmation(
  { id }: Webhook,
  values: Values,
  total: number | null,
  refusal: string | undefined,
  { home, csrf }: Member,
): Html {
  if (refusal !== undefined)
    return html`<section class="card" role="status"><h2>2. Start</h2><p>${refusal}</p></section>`
  if (total === 0)
    return html`<section class="card" role="status"><h2>2. Start</h2><p>There is nothing to replay in this
      choice.</p></section>`
  const hidden = fields.map(
    (name) => html`<input type="hidden" name="${name}" value="${values[name] ?? ''}">`,
  )
  return html`<section class="card created" role="status"><h2>2. Start</h2>
<p><strong>${printTotal(total)}</strong> deliveries will be replayed, in the order of each entity.
  Receivers recognise them by <code>webhook-id</code>.</p>
<form method="post" action="${home}/webhooks/${id}/replay/start">${csrfField(csrf)}${onceField()}${hidden}<button class="primary">Replay ${total === null ? 'them' : printTotal(total)}</button></form></section>`
}

/** Beyond what is looked at the number is not known. */
export function printTotal(total: number | null): string {
  return total === null ? `more than ${replayedAtMost.toLocaleString('en')}` : total.toLocaleString('en')
}

const tones: Record<Replay['state'], Tone> = { running: 'wait', finished: 'good', canceled: 'off' }

function printReplays(replays: readonly Replay[], { home }: Member): Html | undefined {
  if (replays.length === 0) return undefined
  const rows = replays.map(
    (each) =>
      html`<tr><td><a href="${home}/webhooks/${each.webhookId}/replays/${each.id}">${each.id}</a></td><td>${badge(tones[each.state], each.state)}</td><td class="number">${each.done.toLocaleString('en')} of ${printTotal(each.total)}</td><td>${printMoment(each.createdAt)}</td></tr>`,
  )
  return html`<h2>Earlier replays</h2>${table('Replays', ['Replay', 'State', 'Sent', 'Started (UTC)'], rows)}`
}

function printProgress(replay: Replay): Html {
  const { state, done, total, createdAt, finishedAt, selection, pulled } = replay
  const since = selection.since === undefined ? undefined : new Date(selection.since)
  return html`<section class="card"><p>${badge(tones[state], state)} ${done.toLocaleString('en')} of
    ${printTotal(total)} sent</p>
${total !== null && total > 0 && html`<progress value="${done}" max="${total}" aria-label="Sent"></progress>`}
${facts([
  ['Failed since', since && printMoment(since)],
  ['Waiting, tried now', since && pulled.toLocaleString('en')],
  ['Started', printMoment(createdAt)],
  ['Ended', finishedAt ? printMoment(finishedAt) : undefined],
])}</section>`
}

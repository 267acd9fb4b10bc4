/** Sending again what was sent before: choose, see how many, start, watch. */

import type { Sql } from '../../../database/database.ts'
import { type FieldProblem, Invalid } from '../../../problem.ts'
import {
  cancelReplay as cancel,
  countReplay,
  findReplayRefusal,
  getReplay,
  listReplays,
  type RecoveryProgress,
  type Replay,
  readProgress,
  replayedAtMost,
  type Selection,
  startReplay as start,
} from '../../../webhooks/deliveries/replay.ts'
import { readWaiting } from '../../../webhooks/health/webhook-health.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission, ValuesOf } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { badge, crumbs, facts, printMoment, type Tone, table } from '../../frame/parts.ts'
import { readQuestion } from '../../frame/question.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { printCount } from '../../parts/health-words.ts'
import { sendPortal } from '../frame/portal.ts'
import { webhookOf } from '../webhooks/webhooks.ts'
import * as forms from './forms.ts'

type Asked = Partial<ValuesOf<typeof forms.selection>>
type SelectionView = FormView<typeof forms.selection>

export async function startReplay(visit: Visit, member: Member, form: Submission<typeof forms.startReplay>) {
  const webhook = await webhookOf(visit, member)
  const selection = selectionOf(form.values)
  const problems = [...findFaults(form.values), ...findNothing(selection)]
  if (problems.length > 0) throw new Invalid(problems)
  const here = `${member.home}/webhooks/${webhook.id}`
  const make = (db: Sql) => start(db, webhook, selection, member.act)
  const { path } = await makeOnce(visit.context, member, form, make, ({ id }) => `${here}/replays/${id}`)
  return leadToDone(visit, member, path, {
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
  const stop = html`${member.forms.button(forms.cancelReplay, 'Stop it', { buttonLook: 'danger' })}
<p class="small">Stopping leaves alone what was sent already, and what is tried again.</p>`
  const beginning = isRecovery
    ? { path: `${here}/recover`, label: 'Recover' }
    : { path: `${here}/replay`, label: 'Replay' }
  const print = async () => {
    const replay = await getReplay(visit.context.db, webhook, id)
    const course = isRecovery && printCourse(await readCourse(visit.context.db, webhook, id))
    return html`${course}${printProgress(replay)}${replay.state === 'running' && member.isDeveloper && stop}`
  }
  if (asksForStream(visit.request)) return streamPart(visit, memberWatcher(visit, member), print)
  return sendPortal(visit, member, {
    title: `${name} ${id}`,
    section: '/webhooks',
    live: true,
    body: html`${crumbs([...trail(webhook, member), ...(member.isDeveloper ? [beginning] : [])])}
<h1>${name} ${id}</h1>
${livePart(visit, await print())}`,
  })
}

function selectionOf({ from, to, entity, failed }: Asked): Selection {
  return {
    from: from?.getTime(),
    to: to?.getTime(),
    entity: entity?.trim() || undefined,
    failed: failed || undefined,
  }
}

function findFaults({ from, to }: Asked): FieldProblem[] {
  return from && to && from >= to ? [{ field: 'from', problem: 'must be earlier than the end' }] : []
}

function findNothing(selection: Selection): FieldProblem[] {
  const problem = 'must choose by time, by entity, or what failed after all retries'
  return Object.values(selection).every((each) => each === undefined) ? [{ field: 'selection', problem }] : []
}

function trail({ id }: Webhook, { home }: Member) {
  return [
    { path: `${home}/webhooks`, label: 'Webhooks' },
    { path: `${home}/webhooks/${id}`, label: `Webhook ${id}` },
  ]
}

/** Step one is the empty form; with a choice in the address, step two says how many there are. */
export async function showReplay(visit: Visit, member: Member) {
  const { db } = visit.context
  const webhook = await webhookOf(visit, member)
  const question = readQuestion(visit.query, forms.selection, findFaults)
  const isAsked = question.print() !== '' && !question.isWrong
  const total = isAsked ? (await countReplay(db, webhook, selectionOf(question.values))).total : undefined
  return sendPortal(visit, member, {
    title: 'Replay deliveries',
    section: '/webhooks',
    ...(question.isWrong && { status: question.status }),
    body: html`${crumbs(trail(webhook, member))}
<h1>Replay deliveries</h1>
${printChoice(webhook, question.view, member)}
${total !== undefined && printConfirmation(question.view, total, await findReplayRefusal(db, webhook), member)}
${printReplays(await listReplays(db, webhook), member)}`,
  })
}

function printChoice({ id, url }: Webhook, view: SelectionView, { home }: Member): Html {
  return html`<section class="card"><h2>1. Choose</h2><p>Of what was meant for <code>${url}</code>:</p>
<form method="get" action="${home}/webhooks/${id}/replay">
${view.field('from')}
${view.field('to')}
${view.field('entity')}
${view.field('failed')}
${view.button('Count them', { look: 'primary' })}</form></section>`
}

function printConfirmation(
  asked: SelectionView,
  total: number | null,
  refusal: string | undefined,
  member: Member,
): Html {
  if (refusal !== undefined)
    return html`<section class="card" role="status"><h2>2. Start</h2><p>${refusal}</p></section>`
  if (total === 0)
    return html`<section class="card" role="status"><h2>2. Start</h2><p>There is nothing to replay in this
      choice.</p></section>`
  const standing = {
    from: asked.valueOf('from'),
    to: asked.valueOf('to'),
    entity: asked.valueOf('entity'),
    failed: asked.valueOf('failed'),
  }
  const label = `Replay ${total === null ? 'them' : printTotal(total)}`
  return html`<section class="card created" role="status"><h2>2. Start</h2>
<p><strong>${printTotal(total)}</strong> deliveries will be replayed, in the order of each entity.
  Receivers recognise them by <code>webhook-id</code>.</p>
${member.forms.button(forms.startReplay, label, { standing, buttonLook: 'primary' })}</section>`
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

interface Course extends RecoveryProgress {
  readonly waiting: number
}

async function readCourse(sql: Sql, webhook: Webhook, id: number): Promise<Course> {
  const waiting = (await readWaiting(sql, [webhook])).get(webhook.id)?.waiting ?? 0
  return { ...(await readProgress(sql, webhook, id)), waiting }
}

function printCourse({ delivered, exhausted, waiting }: Course): Html {
  const failed = exhausted > 0 && html`, ${printCount(exhausted)} failed after all retries`
  const left = waiting === 0 ? 'nothing waits' : `${printCount(waiting)} still queued`
  return html`<section class="card"><p role="status"><strong>${printCount(delivered)} delivered</strong>
    since it began${failed}, ${left}.</p></section>`
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

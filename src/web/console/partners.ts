/** Every partner, and first of all what waits for the brokerage's answer. */
import { type Partner, type PartnerStatus, partnerStatuses } from '../../partners/partner.ts'
import {
  type AskingPartner,
  findPartners,
  listApplicants,
  listAskingForRefresh,
} from '../../partners/partner-search.ts'
import { Invalid } from '../../problem.ts'
import { choiceField, type Draft, textField } from '../form-fields.ts'
import { type Html, html } from '../html.ts'
import { printDate } from '../page.ts'
import { badge, printMoment, type Tone, table } from '../parts.ts'
import type { Visit } from '../visit.ts'
import { sendConsole } from './console.ts'
import type { Operator } from './operator.ts'
import { asked } from './told.ts'

const pageSize = 50
const waitingAtMost = 10

const tones: Record<PartnerStatus, Tone> = { applied: 'wait', approved: 'good', suspended: 'bad' }

export function partnerBadge(status: PartnerStatus): Html {
  return badge(tones[status], status)
}

interface Question {
  readonly draft: Draft
  readonly state: PartnerStatus | undefined
  readonly text: string | undefined
  readonly before: number | undefined
}

export async function showPartners(visit: Visit, operator: Operator) {
  const question = parseQuestion(visit)
  const isFirst = question.text === undefined && question.state === undefined && question.before === undefined
  const { problem } = question.draft
  return sendConsole(visit, operator, {
    title: 'Partners',
    section: '/console/partners',
    ...(problem && { status: 400 }),
    body: html`<h1>Partners</h1>
${isFirst && !problem && (await printWaiting(visit))}
${printFilter(question.draft)}
${!problem && (await printFound(visit, question))}`,
  })
}

function parseQuestion({ request }: Visit): Question {
  const [text, word, from] = ['q', 'state', 'before'].map((name) => asked(request, name))
  const state = partnerStatuses.find((each) => each === word)
  const wrong = word !== undefined && state === undefined
  const problem = wrong
    ? new Invalid([{ field: 'state', problem: `must be one of ${partnerStatuses.join(', ')}` }])
    : undefined
  const before = from !== undefined && /^\d{1,10}$/.test(from) ? Number(from) : undefined
  return { draft: { values: { q: text, state: word }, problem }, state, text, before }
}

async function printWaiting({ context }: Visit): Promise<Html> {
  const applicants = await listApplicants(context.db, waitingAtMost + 1)
  const asking = await listAskingForRefresh(context.db, waitingAtMost + 1)
  return html`<section class="card"><h2>Applications ${applicants.length === 0 ? badge('off', 'none wait') : badge('wait', howMany(applicants))}</h2>
${applicants.length > 0 && html`<ul class="tokens">${applicants.slice(0, waitingAtMost).map(printApplicant)}</ul>`}
${applicants.length > waitingAtMost && html`<p><a href="/console/partners?state=applied">All that wait</a></p>`}</section>
<section class="card"><h2>Requests for refresh access ${asking.length === 0 ? badge('off', 'none wait') : badge('wait', howMany(asking))}</h2>
${asking.length > 0 && html`<ul class="tokens">${asking.slice(0, waitingAtMost).map(printAsking)}</ul>`}
${asking.length > waitingAtMost && html`<p class="faint">More come up as these are answered.</p>`}</section>`
}

function howMany({ length }: readonly unknown[]): string {
  return length > waitingAtMost ? `more than ${waitingAtMost} wait` : length === 1 ? '1 waits' : `${length} wait`
}

function printApplicant({ branch_id, name, created_at }: Partner): Html {
  return html`<li><div><a href="/console/partners/${branch_id}"><strong>${name}</strong></a><br><span class="faint">Branch ${branch_id} · applied ${printDate(created_at)}</span></div></li>`
}

function printAsking({ branch_id, name, reason, asked_at }: AskingPartner): Html {
  const shown = reason.length > 200 ? `${reason.slice(0, 200)}…` : reason
  return html`<li><div><a href="/console/partners/${branch_id}"><strong>${name}</strong></a><br>“${shown}”<br><span class="faint">Branch ${branch_id} · asked ${printDate(asked_at)}</span></div></li>`
}

function printFilter(draft: Draft): Html {
  const states = [
    { value: '', label: 'any' },
    ...partnerStatuses.map((status) => ({ value: status as string, label: status as string })),
  ]
  return html`<form class="card filter" method="get" action="/console/partners" role="search" aria-label="Partners">
${textField(draft, { name: 'q', label: 'Name or branch id', more: html`type="search" maxlength="100" spellcheck="false" autocomplete="off"` })}
${choiceField(draft, { name: 'state', label: 'State' }, states)}
<div class="field"><button class="primary">Show</button></div>
</form>`
}

async function printFound({ context }: Visit, question: Question): Promise<Html> {
  const { partners, before } = await findPartners(context.db, question, pageSize)
  if (partners.length === 0) return html`<p class="card empty">There are no such partners.</p>`
  const given = Object.entries(question.draft.values).filter((each): each is [string, string] => each[1] !== undefined)
  const first = `/console/partners?${new URLSearchParams(given)}`
  const heads = ['Partner', 'Branch', 'State', 'Refresh access', 'Applied (UTC)']
  return html`${table('Partners', heads, partners.map(printRow))}
<nav class="pages" aria-label="Pages">${question.before !== undefined && html`<a href="${first}">Newest</a>`}
${before !== undefined && html`<a href="${first}&before=${before}" rel="next">Older</a>`}</nav>`
}

function printRow({ branch_id, name, status, refresh_access, created_at }: Partner): Html {
  return html`<tr><td><a href="/console/partners/${branch_id}">${name}</a></td><td>${branch_id}</td><td>${partnerBadge(status)}</td>
<td>${refresh_access ? 'granted' : '–'}</td><td>${printMoment(created_at)}</td></tr>`
}

/** Every partner, and first of all what waits for the brokerage's answer. */

import type { Partner } from '../../../partners/partner.ts'
import { findPartners } from '../../../partners/partner-search.ts'
import { type PartnerStatus, partnerStatuses } from '../../../partners/partner-status.ts'
import {
  type AskingPartner,
  findWaiting,
  type WaitingList,
  type WaitingPartner,
  type WideningPartner,
} from '../../../partners/waiting.ts'
import { cut } from '../../../text/cut.ts'
import { anyOf, oneOf, text } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, moment, plain, printList, sendListFile } from '../../frame/list.ts'
import { printDate } from '../../frame/page.ts'
import { badge, menu, type Tone } from '../../frame/parts.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import { printListBar } from '../../frame/saved-views.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher } from '../../gates/gates.ts'
import { linkTo, mayFollow, type Reader, sendConsole } from '../frame/console.ts'

const pageSize = 50
const waitingAtMost = 10

const fields = {
  q: text({
    ...{ label: 'Name or branch id', type: 'search', most: 100 },
    more: html`spellcheck="false" autocomplete="off"`,
  }),
  state: oneOf({ label: 'State', of: partnerStatuses, choices: anyOf(partnerStatuses) }),
}

type PartnersQuestion = Question<typeof fields>

const tones: Record<PartnerStatus, Tone> = {
  applied: 'wait',
  approved: 'good',
  declined: 'off',
  suspended: 'bad',
}

export function partnerBadge(status: PartnerStatus): Html {
  return badge(tones[status], status)
}

export async function showPartners(visit: Visit, operator: Operator) {
  const question = readQuestion(visit.query, fields)
  const { q, state } = question.values
  const before = branchOf(visit.query.before)
  const list = listOf(visit, question, operator)
  if (asksForFile(visit))
    return sendListFile(visit, operator, operatorWatcher(visit, operator), list, question)
  const isFirst = [q, state, before].every((each) => each === undefined)
  const { isWrong } = question
  return sendConsole(visit, operator, {
    title: 'Partners',
    section: '/console/partners',
    status: question.status,
    body: html`<h1>Partners</h1>
${isFirst && !isWrong && (await printWaiting(visit))}
${printFilter(question)}
${await printListBar(visit, operator, '/console/partners', question)}
${!isWrong && (await printFound(list, before, question))}`,
  })
}

function listOf(
  { context }: Visit,
  { values: { q, state } }: PartnersQuestion,
  reader: Reader,
): List<Partner, number> {
  return {
    name: 'partners',
    caption: 'Partners',
    empty: 'There are no such partners.',
    columns: [
      {
        name: 'Partner',
        cell: ({ branchId, name }) => html`<a href="/console/partners/${branchId}">${name}</a>`,
        text: ({ name }) => name,
      },
      plain('Branch', ({ branchId }) => branchId),
      { name: 'State', cell: ({ status }) => partnerBadge(status), text: ({ status }) => status },
      plain('Refresh access', ({ refreshAccess }) => (refreshAccess ? 'granted' : '–')),
      moment('Applied (UTC)', ({ createdAt }) => createdAt),
      { name: 'Actions', cell: ({ branchId, name }) => printMenu(branchId, name, reader) },
    ],
    async read(from, most) {
      const { partners, before } = await findPartners(context.db, { text: q, state, before: from }, most)
      return { rows: partners, next: before }
    },
  }
}

/** What is no number is as if it were not there. */
function branchOf(text: string | string[] | undefined): number | undefined {
  return typeof text === 'string' && /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

async function printWaiting({ context }: Visit): Promise<Html> {
  const { applications, refresh, scopes } = await findWaiting(context.db, waitingAtMost)
  return html`<section class="card"><h2>Applications ${waitingBadge(applications)}</h2>
${applications.count > 0 && html`<ul class="tokens">${applications.longest.map(printApplicant)}</ul>`}
${
  applications.count > waitingAtMost &&
  html`<p><a href="/console/partners?state=applied">All that
  wait</a></p>`
}</section>
<section class="card"><h2>Requests for refresh access ${waitingBadge(refresh)}</h2>
${refresh.count > 0 && html`<ul class="tokens">${refresh.longest.map((each) => printAsking(each))}</ul>`}
${refresh.count > waitingAtMost && html`<p class="faint">More come up as these are answered.</p>`}</section>
<section class="card"><h2>Requests for wider scopes ${waitingBadge(scopes)}</h2>
${scopes.count > 0 && html`<ul class="tokens">${scopes.longest.map(printWidening)}</ul>`}
${scopes.count > waitingAtMost && html`<p class="faint">More come up as these are answered.</p>`}</section>`
}

function waitingBadge({ count }: WaitingList): Html {
  if (count === 0) return badge('off', 'none need your decision')
  return badge(
    'wait',
    count > waitingAtMost
      ? `more than ${waitingAtMost} need your decision`
      : count === 1
        ? '1 needs your decision'
        : `${count} need your decision`,
  )
}

function printApplicant({ branchId, name, since }: WaitingPartner): Html {
  return html`<li><div><a href="/console/partners/${branchId}"><strong>${name}</strong></a><br><span
    class="faint">Branch ${branchId} · applied ${printDate(since)}</span></div></li>`
}

function printWidening(asking: WideningPartner): Html {
  return printAsking(asking, html`${asking.scopes.join(' ')} for ${asking.client}: `)
}

function printAsking({ branchId, name, reason, since }: AskingPartner, what?: Html): Html {
  const shown = reason.length > 200 ? `${cut(reason, 200)}…` : reason
  return html`<li><div><a href="/console/partners/${branchId}"><strong>${name}</strong></a><br>${what}“${shown}”<br><span class="faint">Branch ${branchId} · asked ${printDate(since)}</span></div></li>`
}

function printFilter({ view }: PartnersQuestion): Html {
  return html`<form class="card filter" method="get" action="/console/partners" role="search"
    aria-label="Partners">
${view.field('q')}
${view.field('state')}
<div class="field"><button class="primary">Show</button></div>
</form>`
}

async function printFound(
  list: List<Partner, number>,
  from: number | undefined,
  question: PartnersQuestion,
): Promise<Html> {
  const { rows, next } = await list.read(from, pageSize)
  if (rows.length === 0) return printList(list, rows)
  const newest = html`<a href="/console/partners?${question.print()}">Newest</a>`
  const older = html`<a href="/console/partners?${question.print({ before: next })}" rel="next">Older</a>`
  return html`${printList(list, rows)}
<nav class="pages" aria-label="Pages">${from !== undefined && newest}
${next !== undefined && older}</nav>`
}

function printMenu(branchId: number, name: string, reader: Reader): Html {
  const audit = `/console/audit?subject=branch:${branchId}`
  return menu(name, [
    html`<a href="/console/webhooks?partner=${branchId}">Webhooks</a>`,
    html`<a href="/console/partners/${branchId}/calls">API calls</a>`,
    mayFollow(reader, audit) && linkTo(reader, audit, 'Audit entries'),
  ])
}

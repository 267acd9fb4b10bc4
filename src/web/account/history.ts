/** Security history: what happened to the account, when and from where, in plain words. */
import type { AuditEntry } from '../../audit/audit.ts'
import { findHistory } from '../../audit/history.ts'
import type { Form } from '../../http/form.ts'
import { type Html, html } from '../frame/html.ts'
import { printDate } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import { sendAccountPage } from './account-page.ts'
import { findHistoryNames, type HistoryNames } from './history-names.ts'
import { historyWords } from './history-words.ts'

const here = '/account/history'
const pageSize = 30

export async function showHistory(visit: Visit, visitor: UserSession) {
  const { context, request } = visit
  const from = parseBefore(request.query as Form)
  const { entries, before } = await findHistory(context.db, visitor.session.user.id, {
    before: from,
    limit: pageSize,
  })
  const names = await findHistoryNames(context.db, entries, visitor.session.user)
  return sendAccountPage(visit, visitor, {
    title: 'Security history',
    here,
    body: html`<h1>Security history</h1>
<p>What happened to your account, newest first. If something here was not you,
  <a href="/account/password">change your password</a> and look at your
  <a href="/account/devices">devices</a>.</p>
<section class="card">
${
  entries.length === 0
    ? html`<p class="empty">Nothing more is recorded.</p>`
    : html`<ol
  class="history">${entries.map((entry) => printEntry(entry, names, visitor.session.user.id))}</ol>`
}
</section>
<p class="pages">${from !== undefined && html`<a class="button" href="${here}">Newest</a>`}
  ${before !== undefined && html`<a class="button" href="${here}?before=${before}">Older</a>`}</p>`,
  })
}

function parseBefore({ before }: Form): number | undefined {
  return typeof before === 'string' && /^\d{1,15}$/.test(before) ? Number(before) : undefined
}

function printEntry(entry: AuditEntry, names: HistoryNames, readerId: string): Html {
  const { title, text, alarming } = historyWords(entry, names, readerId)
  // Where an operator sits is not the holder's to know.
  const byOperator = entry.actor.startsWith('user:') && entry.actor !== `user:${readerId}`
  return html`<li${alarming && html` class="alarming"`}>
<div><strong>${title}</strong> ${
    entry.environment === 'sandbox' &&
    html`<span
  class="badge sandbox">Sandbox</span>`
  }${text !== undefined && html`<br>${text}`}</div>
<span class="faint">${printDate(entry.at)}${
    entry.address !== null &&
    !byOperator &&
    html` · from
  ${entry.address}`
  }</span>
</li>`
}

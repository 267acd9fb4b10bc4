/** The audit log: who did what to whom, when and from where. */
import type { AuditEntry } from '../../audit/audit.ts'
import { type FoundEntries, searchEntries } from '../../audit/entry-search.ts'
import { type Content, type Html, html } from '../frame/html.ts'
import { printMoment, table } from '../frame/parts.ts'
import type { Question } from '../frame/question.ts'
import type { Visit } from '../frame/visit.ts'
import type { Operator } from '../gates.ts'
import { printAuditFilter, readAuditQuestion } from './audit-question.ts'
import { sendConsole } from './console.ts'

const here = '/console/audit'
const pageSize = 50

export async function showAudit(visit: Visit, operator: Operator) {
  const { asked, question } = readAuditQuestion(visit)
  const before = asked.number('before')
  const { problem } = asked.draft()
  const found = problem ? undefined : await searchEntries(visit.context.db, question, before, { most: pageSize })
  return sendConsole(visit, operator, {
    title: 'Audit log',
    section: here,
    status: problem?.status ?? 200,
    body: html`<h1>Audit log</h1>
<p class="acts"><a class="button" href="${here}/chain">Verify the chain…</a></p>
${printAuditFilter(asked)}
${found && printFound(found, asked, before)}`,
  })
}

function printFound({ entries, next }: FoundEntries, asked: Question, before: number | undefined): Html {
  const given = asked.print()
  const older = next !== undefined && `${here}?${asked.print({ before: next })}`
  return html`${printEntries(entries, next !== undefined)}
<nav class="pages" aria-label="Pages">${before !== undefined && html`<a href="${here}?${given}">Newest</a>`}
${older && html`<a href="${older}" rel="next">${entries.length < pageSize ? 'Look further back' : 'Older'}</a>`}</nav>
<section class="card"><h2>Export</h2>
<p>Everything that this search finds, not only this page, newest first. The export is recorded in the log.</p>
<div class="acts"><a class="button" href="${here}/export?${asked.print({ format: 'csv' })}">CSV</a>
<a class="button" href="${here}/export?${asked.print({ format: 'json' })}">JSON</a></div></section>`
}

function printEntries(entries: readonly AuditEntry[], hasMore: boolean): Html {
  if (entries.length === 0)
    return html`<p class="card empty">${hasMore ? 'Nothing was found so far: the search took too long to go on by itself.' : 'Nothing was found.'}</p>`
  const rows = entries.map(
    (entry) => html`<tr>
<td>${printMoment(entry.at)}<br><span class="faint">entry ${entry.id}</span></td>
<td>${search('actor', entry.actor)}</td>
<td>${search('action', entry.action)}</td>
<td>${search('subject', entry.subject)}</td>
<td>${printPlace(entry)}</td>
<td>${printDetails(entry)}</td>
</tr>`,
  )
  const heads = ['When (UTC)', 'Who', 'Did what', 'To whom', 'From where', 'Details']
  return table('Entries of the audit log', heads, rows)
}

/** A value that leads to what else it is in. */
function search(name: string, value: string): Html {
  return html`<a href="${here}?${new URLSearchParams({ [name]: value }).toString()}"><code>${value}</code></a>`
}

function printPlace({ address, environment }: AuditEntry): Content {
  if (address === null && environment === null) return '–'
  return html`${address !== null && search('address', address)}${address !== null && environment !== null && html`<br>`}${environment !== null && html`<span class="faint">${environment}</span>`}`
}

function printDetails({ details, requestId }: AuditEntry): Content {
  const all = { ...details, ...(requestId !== null && { requestId }) }
  if (Object.keys(all).length === 0) return '–'
  return html`<details><summary>${Object.keys(all).length} more</summary><pre>${JSON.stringify(all, undefined, 2)}</pre></details>`
}

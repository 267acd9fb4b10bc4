/** The audit log: who did what to whom, when and from where. */
import type { AuditEntry } from '../../../audit/audit.ts'
import { type FoundEntries, searchEntries } from '../../../audit/entry-search.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { facts, printMoment, table } from '../../frame/parts.ts'
import { printListBar } from '../../frame/saved-views.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import type { Names } from '../frame/names.ts'
import {
  type Ambiguity,
  type AskedOfLog,
  printAuditFilter,
  printSearch,
  readAuditQuestion,
} from './audit-question.ts'
import { findNamesIn, printSentence } from './entry-sentences.ts'

const here = '/console/audit'
const pageSize = 50

export async function showAudit(visit: Visit, operator: Operator) {
  const { asked, question, ambiguities } = await readAuditQuestion(visit, operator)
  const { before } = asked.values
  const { db } = visit.context
  const isAsked = !asked.isWrong && ambiguities.length === 0
  const found = !isAsked ? undefined : await searchEntries(db, question, before, { most: pageSize })
  const names = await findNamesIn(db, found?.entries ?? [], operator)
  return sendConsole(visit, operator, {
    title: 'Audit log',
    section: here,
    status: asked.status,
    body: html`<h1>Audit log</h1>
<p class="acts"><a class="button" href="${here}/chain">Verify the chain…</a></p>
${printAuditFilter(asked)}
${await printListBar(visit, operator, here, asked, { hasFile: false })}
${
  asked.values.request !== undefined &&
  html`<p class="small">Codes exchanged and tokens refreshed are not found by a request: look for it among
    the API calls of the partner.</p>`
}
${ambiguities.map((each) => printAmbiguity(each, asked))}
${found && printFound(found, names, asked, { before, exports: operator.may('audit.export') })}`,
  })
}

function printAmbiguity({ field, typed, candidates }: Ambiguity, asked: AskedOfLog): Html {
  const links = candidates.map(
    ({ id, name }) =>
      html`<li><div><a href="${here}?${asked.print({ before: undefined, [field]: id })}">${name}</a><br><span
      class="faint">${id}</span></div></li>`,
  )
  return html`<section class="card"><h2>Who is meant by “${typed}”?</h2><ul
    class="tokens">${links}</ul></section>`
}

interface AuditPageOptions {
  readonly before: number | undefined
  /** Whether the reader may take the entries away. */
  readonly exports: boolean
}

function printFound(
  { entries, next }: FoundEntries,
  names: Names,
  asked: AskedOfLog,
  options: AuditPageOptions,
): Html {
  const { before, exports } = options
  const given = printSearch(asked)
  const older = next !== undefined && `${here}?${printSearch(asked, { before: next })}`
  return html`${printEntries(entries, names, next !== undefined, exports)}
<nav class="pages" aria-label="Pages">${before !== undefined && html`<a href="${here}?${given}">Newest</a>`}
${
  older &&
  html`<a href="${older}"
  rel="next">${entries.length < pageSize ? 'Look further back' : 'Older'}</a>`
}</nav>
${exports && printExport(asked)}`
}

function printExport(asked: AskedOfLog): Html {
  return html`<section class="card"><h2>Export</h2>
<p>Everything that this search finds, not only this page, newest first. The export is recorded in the log.</p>
<div class="acts"><a class="button" href="${here}/export?${printSearch(asked, { format: 'csv' })}">CSV</a>
<a class="button" href="${here}/export?${printSearch(asked, { format: 'json' })}">JSON</a></div>
<h3>With proof</h3>
<p>A file that proves, to somebody who has nothing but the file, that the entries stand in the log as they
  were written: <code>countersign audit verify FILE</code>. Other entries are not in it.</p>
<div class="acts"><form id="evidence" method="get" action="${here}/export"><input type="hidden" name="format"
  value="evidence"><input type="hidden" name="of"
  value="ticked"><button>The entries ticked above</button></form>
<a class="button" href="${here}/export?${printSearch(asked, { format: 'evidence' })}">All that this search
  finds</a></div></section>`
}

function printEntries(
  entries: readonly AuditEntry[],
  names: Names,
  hasMore: boolean,
  exports: boolean,
): Html {
  if (entries.length === 0)
    return html`<p class="card empty">${hasMore ? 'Nothing was found so far: the search took too long to go on by itself.' : 'Nothing was found.'}</p>`
  const rows = entries.map(
    (entry) => html`<tr>
<td>${exports ? printTick(entry) : entry.id}</td>
<td>${printMoment(entry.at)}</td>
<td class="told">${printSentence(entry, names)}</td>
<td>${printPlace(entry)}</td>
<td>${printDetails(entry)}</td>
</tr>`,
  )
  return table(
    'Entries of the audit log',
    ['Entry', 'When (UTC)', 'What happened', 'From where', 'Details'],
    rows,
  )
}

function printTick({ id }: AuditEntry): Html {
  return html`<label class="tick"><input type="checkbox" name="entry" value="${id}"
    form="evidence"><span>entry ${id}</span></label>`
}

/** A value that leads to what else it is in. */
function search(name: string, value: string): Html {
  return html`<a href="${here}?${new URLSearchParams({ [name]: value }).toString()}"><code>${value}</code></a>`
}

function printPlace({ address, environment }: AuditEntry): Content {
  if (address === null && environment === null) return '–'
  return html`${address !== null && search('address', address)}${address !== null && environment !== null && html`<br>`}${environment !== null && html`<span class="faint">${environment}</span>`}`
}

const shownOfAList = 20

/** Of the ids of an import's batch the first; evidence and exports have all of them. */
function shorten(_: string, value: unknown): unknown {
  if (!Array.isArray(value) || value.length <= shownOfAList) return value
  return [...value.slice(0, shownOfAList), `… and ${(value.length - shownOfAList).toLocaleString('en')} more`]
}

/** The ids behind the names, each leading to what else it is in, and whatever else the entry holds. */
function printDetails({ actor, action, subject, details, requestId }: AuditEntry): Content {
  return html`<details><summary>Ids and details</summary>${facts([
    ['Actor', search('actor', actor)],
    ['Action', search('action', action)],
    ['Target', search('subject', subject)],
    ['Request', requestId !== null && search('request', requestId)],
  ])}${Object.keys(details).length > 0 && html`<pre>${JSON.stringify(details, shorten, 2)}</pre>`}</details>`
}

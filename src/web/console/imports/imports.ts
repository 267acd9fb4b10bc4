/** What the brokerage's systems have imported, and how each of them stands. */
import { type Import, listImports } from '../../../provisioning/import.ts'
import { number } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge, printMoment, type Tone, table } from '../../frame/parts.ts'
import { readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { findNames, type Names, printName } from '../frame/names.ts'

export const importsPage = '/console/imports'
const pageSize = 50

export async function showImports(visit: Visit, operator: Operator) {
  const { db } = visit.context
  const question = readQuestion(visit.query, { before: number({ label: 'Before' }) })
  const { before } = question.values
  const found = await listImports(db, pageSize + 1, { before })
  const shown = found.slice(0, pageSize)
  const names = await findNames(
    db,
    shown.map(({ actor }) => actor),
    operator,
  )
  return sendConsole(visit, operator, {
    title: 'Imports',
    section: importsPage,
    body: html`<h1>Imports</h1>
<p>Files of customers, accounts and holdings, as the brokerage’s systems sent them.</p>
${question.printProblem()}
${
  shown.length === 0
    ? html`<p
  class="card empty">${before === undefined ? 'Nothing has been imported in the last 90 days.' : 'There are none before that.'}</p>`
    : printTable(shown, names)
}
<nav class="pages" aria-label="Pages">${before !== undefined && html`<a href="${importsPage}">Newest</a>`}
${
  found.length > pageSize &&
  html`<a href="${importsPage}?before=${shown.at(-1)!.id}"
  rel="next">Older</a>`
}</nav>`,
  })
}

function printTable(imports: readonly Import[], names: Names): Html {
  const head = ['Import', 'State', 'Source and mode', 'Sent by', 'Lines', 'Applied', 'Skipped', 'Faulty']
  const rows = imports.map((each) => printRow(each, names))
  return table('Imports', [...head, 'Started, ended (UTC)'], rows)
}

function printRow(read: Import, names: Names): Html {
  const { id, source, mode, actor, lines, skipped, failed, startedAt, finishedAt } = read
  return html`<tr><td><a href="${importsPage}/${id}">${id}</a></td><td>${printState(read)}</td><td>${source},
    ${mode}${printSite(read)}${printDryRun(read)}</td>
<td>${printName(actor, names)}</td><td class="number">${count(lines)}</td><td
  class="number">${count(appliedOf(read))}</td><td class="number">${count(skipped)}</td>
<td class="number">${count(failed)}</td><td>${printMoment(startedAt)}${finishedAt !== null && html`<br>${printMoment(finishedAt)}`}</td></tr>`
}

function appliedOf({ created, changed, removed }: Import): number {
  return created + changed + removed
}

export function count(number: number): string {
  return number.toLocaleString('en')
}

const tones: Readonly<Record<Import['state'], Tone>> = {
  running: 'wait',
  'needs approval': 'bad',
  removing: 'wait',
  finished: 'good',
  stopped: 'off',
}

export function printState({ state }: Import): Html {
  return badge(tones[state], state)
}

export function printSite({ environment }: Import): Html | undefined {
  return environment === 'sandbox' ? html` <span class="badge sandbox">sandbox</span>` : undefined
}

export function printDryRun({ dryRun }: Import): Html | undefined {
  return dryRun ? html` ${badge('off', 'dry run')}` : undefined
}

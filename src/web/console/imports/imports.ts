/** What the brokerage's systems have imported, and how each of them stands. */
import { type Import, listImports } from '../../../provisioning/import.ts'
import { number } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import {
  asksForFile,
  counted,
  type List,
  type ListColumn,
  printList,
  sendListFile,
} from '../../frame/list.ts'
import { badge, printMoment, type Tone } from '../../frame/parts.ts'
import { readQuestion } from '../../frame/question.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { findNames, type Names, printName } from '../frame/names.ts'

export const importsPage = '/console/imports'
const pageSize = 50

export async function showImports(visit: Visit, operator: Operator) {
  const question = readQuestion(visit.query, { before: number({ label: 'Before' }) })
  const { before } = question.values
  const list = listOf(visit, before, operator)
  if (asksForFile(visit))
    return sendListFile(visit, operator, operatorWatcher(visit, operator), list, question)
  const { rows, next } = await list.read(before, pageSize)
  return sendConsole(visit, operator, {
    title: 'Imports',
    section: importsPage,
    body: html`<h1>Imports</h1>
<p>Files of customers, accounts and holdings, as the brokerage’s systems sent them.</p>
<p><a class="button" href="${importsPage}/new">Upload a file</a></p>
${question.printProblem()}
${rows.length > 0 && printFileLink(importsPage)}
${printList(list, rows)}
<nav class="pages" aria-label="Pages">${before !== undefined && html`<a href="${importsPage}">Newest</a>`}
${next !== undefined && html`<a href="${importsPage}?before=${next}" rel="next">Older</a>`}</nav>`,
  })
}

interface ListedImport {
  readonly read: Import
  /** Of who sent it. */
  readonly names: Names
}

function listOf(
  { context }: Visit,
  shownBefore: number | undefined,
  operator: Operator,
): List<ListedImport, number> {
  return {
    name: 'imports',
    caption: 'Imports',
    empty:
      shownBefore === undefined
        ? 'Nothing has been imported in the last 90 days.'
        : 'There are none before that.',
    columns,
    async read(before, most) {
      const found = await listImports(context.db, most + 1, { before })
      const shown = found.slice(0, most)
      const senders = shown.map(({ actor }) => actor)
      const names = await findNames(context.db, senders, operator)
      return {
        rows: shown.map((read) => ({ read, names })),
        next: found.length > most ? shown.at(-1)!.id : undefined,
      }
    },
  }
}

const columns: readonly ListColumn<ListedImport>[] = [
  {
    name: 'Import',
    cell: ({ read: { id } }) => html`<a href="${importsPage}/${id}">${id}</a>`,
    text: ({ read }) => read.id,
  },
  { name: 'State', cell: ({ read }) => printState(read), text: ({ read }) => read.state },
  {
    name: 'Source and mode',
    cell: ({ read }) => html`${read.source}, ${read.mode}${printSite(read)}${printDryRun(read)}`,
    text: ({ read: { source, mode, environment, dryRun } }) =>
      `${source}, ${mode}, ${environment}${dryRun ? ', dry run' : ''}`,
  },
  {
    name: 'Sent by',
    cell: ({ read, names }) => printName(read.actor, names),
    text: ({ read, names }) => names.get(read.actor)?.name ?? read.actor,
  },
  counted('Lines', ({ read }) => read.lines),
  counted('Applied', ({ read }) => appliedOf(read)),
  counted('Skipped', ({ read }) => read.skipped),
  counted('Faulty', ({ read }) => read.failed),
  {
    name: 'Started, ended (UTC)',
    cell: ({ read: { startedAt, finishedAt } }) =>
      html`${printMoment(startedAt)}${finishedAt !== null && html`<br>${printMoment(finishedAt)}`}`,
  },
  { name: 'Started (UTC)', text: ({ read }) => read.startedAt },
  { name: 'Ended (UTC)', text: ({ read }) => read.finishedAt },
]

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

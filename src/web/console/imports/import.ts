/**
 * One import: how far it is, what came of it, what is wrong with which line, and what a snapshot that waits
 * for a yes would remove.
 */
import { second } from '../../../clock.ts'
import { getImport, type Import, listFaults } from '../../../provisioning/import.ts'
import { findNewerSnapshot } from '../../../provisioning/import-review.ts'
import type { LineFault } from '../../../provisioning/outcomes.ts'
import { stopImport } from '../../../provisioning/snapshot.ts'
import { printAgo } from '../../frame/ago.ts'
import { csvHead, printCsvRow } from '../../frame/csv.ts'
import { number } from '../../frame/field.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForStream, livePart, streamPart } from '../../frame/live.ts'
import { crumbs, facts, printMoment, table } from '../../frame/parts.ts'
import { readQuestion } from '../../frame/question.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import {
  type Operator,
  operatorWatcher,
  type ReasonedOperator,
  type StrongOperator,
} from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { actOrPropose, readOffers } from '../frame/four-eyes.ts'
import { held } from '../frame/held.ts'
import { findNames, printName } from '../frame/names.ts'
import * as forms from './forms.ts'
import { printRemoval } from './import-removal.ts'
import { count, importsPage, printDryRun, printSite, printState } from './imports.ts'

const faultsAPage = 50

const importOf = ({ context, request }: Visit): Promise<Import> =>
  getImport(context.db, idOf(paramsOf(request).id))

const pathOf = ({ id }: Pick<Import, 'id'>) => `${importsPage}/${id}`

const hasEnded = ({ state }: Import) => state === 'finished' || state === 'stopped'

export async function showImport(visit: Visit, operator: Operator) {
  const found = await importOf(visit)
  // What a snapshot lacks may be long to count, and stays the same while it waits.
  const question = held(async () => printQuestion(visit, operator, await importOf(visit)), 5 * second)
  const print = () => printImport(visit, operator, question)
  if (asksForStream(visit.request)) return streamPart(visit, operatorWatcher(visit, operator), print)
  // A form that was refused has no address that a stream could ask for.
  const isLive = !hasEnded(found) && !operator.forms.isReturned
  const body = await print()
  return sendConsole(visit, operator, {
    title: `Import ${found.id}`,
    section: importsPage,
    live: isLive,
    body: html`${crumbs([{ path: importsPage, label: 'Imports' }])}
<h1>Import ${found.id}</h1>${isLive ? livePart(visit, body) : body}`,
  })
}

async function printImport(visit: Visit, operator: Operator, question: () => Promise<Html>): Promise<Html> {
  const read = await importOf(visit)
  return html`${await printStanding(visit, operator, read)}
${read.state === 'needs approval' && (await question())}
${read.state === 'running' && printStop(read, operator)}
${printCounts(read)}
${await printFaults(visit, read)}`
}

async function printStanding({ context }: Visit, operator: Operator, read: Import): Promise<Html> {
  const { source, mode, asOf, actor, requestId, startedAt, updatedAt, finishedAt, lines } = read
  const names = await findNames(context.db, [actor], operator)
  return html`<section class="card"><h2>State</h2><p>${printState(read)}${printDryRun(read)}
    ${stateWords(read)}</p>
${printProgress(read)}
${facts([
  ['Source', html`${source}${printSite(read)}`],
  ['Mode', mode === 'snapshot' ? 'snapshot: everything that the source has' : 'changes'],
  ['As of version', asOf ?? undefined],
  ['Sent by', printName(actor, names)],
  ['Request', requestId ?? undefined],
  ['Lines read', count(lines)],
  ['Started', printMoment(startedAt)],
  ['Last change', !hasEnded(read) && printAgo(updatedAt, context.clock.now())],
  ['Ended', finishedAt ? printMoment(finishedAt) : undefined],
])}</section>`
}

/** Of a file that the sender told the length of; and of a removal. */
function printProgress({ state, bytes, totalBytes, removed, missing }: Import): Html | undefined {
  if (state === 'running' && totalBytes !== null)
    return html`<progress value="${Math.min(bytes, totalBytes)}" max="${totalBytes}"
      aria-label="Read"></progress>`
  if (state === 'removing' && missing !== null)
    return html`<progress value="${Math.min(removed, missing)}" max="${missing}"
      aria-label="Removed"></progress>`
  return undefined
}

function stateWords(read: Import): string {
  const { state, dryRun, missing, known, removed, mode } = read
  const share = missing === null ? '' : `${count(missing)} of ${count(known ?? 0)} records`
  if (state === 'running')
    return 'Its lines are being read. If its sender was cut off, it goes on after the last line.'
  if (state === 'needs approval')
    return `It would remove ${share}, which is more than may go without approval.`
  if (state === 'removing') return `${count(removed)} removed so far. The snapshot does not have ${share}.`
  if (state === 'stopped') return 'What was applied before stays.'
  if (dryRun)
    return mode === 'snapshot' ? `Nothing was changed. It would remove ${share}.` : 'Nothing was changed.'
  return 'Every line was read.'
}

async function printQuestion(visit: Visit, operator: Operator, read: Import): Promise<Html> {
  const { db, config } = visit.context
  const newer = await findNewerSnapshot(db, read.id)
  const offers = await readOffers(visit)
  const stop = askToStop(read, operator, 'Stop', 'Nothing is removed. What was created and changed stays.')
  return printRemoval(db, read, {
    operator,
    offers,
    newer,
    stop,
    percent: config.provisioning.removalPercent,
  })
}

function printStop(read: Import, operator: Operator): Html {
  const text = 'No more of its lines are taken. What was applied before stays.'
  return html`<section class="card"><h2>Stop</h2>${askToStop(read, operator, 'Stop the import', text)}</section>`
}

function askToStop({ id }: Import, operator: Operator, label: string, text: string): Html {
  return operator.forms.ask(forms.stopImport, { label, of: `import ${id}`, text })
}

function printCounts(read: Import): Html {
  return html`<section class="card"><h2>Records</h2>${facts([
    ['Created', count(read.created)],
    ['Changed', count(read.changed)],
    ['Removed', count(read.removed)],
    ['Unchanged', count(read.unchanged)],
    ['Skipped: a newer version is known', count(read.skipped)],
    ['Wait for their customer or account', count(read.waiting)],
    ['Faulty', count(read.failed)],
  ])}</section>`
}

async function printFaults({ context, query }: Visit, read: Import): Promise<Html | undefined> {
  if (read.failed === 0) return undefined
  const { after = 0 } = readQuestion(query, { after: number({ label: 'After' }) }).values
  const found = await listFaults(context.db, read.id, faultsAPage + 1, after)
  const shown = found.slice(0, faultsAPage)
  const here = pathOf(read)
  return html`<section class="card" id="faults"><h2>Faults</h2>
<p>The other lines were applied. The first thousand faults are kept.
  <a href="${here}/faults">Download as CSV</a></p>
${
  shown.length === 0
    ? html`<p class="empty">There are none after line
  ${count(after)}.</p>`
    : table('Faults', ['Line', 'Field', 'What is wrong'], shown.map(printFault))
}
<nav class="pages" aria-label="Pages of faults">${after > 0 && html`<a href="${here}#faults">First page</a>`}
${
  found.length > faultsAPage &&
  html`<a href="${here}?after=${shown.at(-1)!.line}#faults" rel="next">More
  faults</a>`
}</nav></section>`
}

function printFault({ line, field, problem }: LineFault): Html {
  return html`<tr><td class="number">${count(line)}</td><td><code>${field}</code></td><td
    class="break">${problem}</td></tr>`
}

export async function exportFaults(visit: Visit, _operator: Operator) {
  const { id } = await importOf(visit)
  const faults = await listFaults(visit.context.db, id)
  const rows = faults.map(({ line, field, problem }) => printCsvRow([String(line), field, problem]))
  return visit.reply
    .header('content-disposition', `attachment; filename="import-${id}-faults.csv"`)
    .type('text/csv; charset=utf-8; header=present')
    .send([csvHead(['line', 'field', 'problem']), ...rows].join(''))
}

const toAll = { path: importsPage, label: 'All imports' }

export async function removeMissing(
  visit: Visit,
  operator: ReasonedOperator,
  form: Submission<typeof forms.removeMissing>,
) {
  const { id } = await importOf(visit)
  const values = { importId: id, missing: Number(form.values.missing) }
  const wish = { kind: 'import.removal', values, reason: operator.act.reason } as const
  return actOrPropose(visit, operator, wish, (isDone) => {
    const text = isDone
      ? 'The records are being removed.'
      : 'Nothing was removed: this import waits no more, or a newer snapshot has come.'
    return leadToDone(visit, operator, pathOf({ id }), { text, link: toAll })
  })
}

export async function stop(visit: Visit, operator: StrongOperator) {
  const { id } = await importOf(visit)
  await stopImport(visit.context.db, id, operator.act)
  return leadToDone(visit, operator, pathOf({ id }), { text: `Import ${id} is stopped.`, link: toAll })
}

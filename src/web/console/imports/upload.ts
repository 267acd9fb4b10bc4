/**
 * A file of records that an administrator chooses in the browser: read whole and applied before the answer. What is
 * larger comes by the command line or from a system of the brokerage.
 */

import { Invalid } from '../../../problem.ts'
import { convertCsv } from '../../../provisioning/csv.ts'
import { type Import, readImport, startImport } from '../../../provisioning/import.ts'
import { kinds } from '../../../provisioning/record.ts'
import { finishImport } from '../../../provisioning/snapshot.ts'
import { listNamedSources } from '../../../provisioning/source.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { crumbs } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator, ReasonedOperator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'
import { importsPage } from './imports.ts'

export async function showUpload(visit: Visit, operator: Operator) {
  const sources = await listNamedSources(visit.context.db)
  const choices = sources.map(({ source, environment }) => ({
    value: source,
    label: environment === 'sandbox' ? `${source} (sandbox)` : source,
  }))
  return sendConsole(visit, operator, {
    title: 'Upload a file',
    section: importsPage,
    body: html`${crumbs([{ path: importsPage, label: 'Imports' }])}
<h1>Upload a file</h1>
<p>Customers, accounts and holdings as CSV with a line of column names, or as a JSON object a line.</p>
${
  choices.length === 0
    ? html`<p class="empty">No source is named yet: <code>countersign source create core</code></p>`
    : printForm(operator, choices)
}
<p class="small">${forms.uploadMegabytes} MB at most. Larger files: <code>countersign import FILE</code>, or
  <code>POST /internal/v1/imports</code> from your own systems.</p>`,
  })
}

function printForm(operator: Operator, choices: readonly { value: string; label: string }[]): Html {
  return operator.forms.print(
    forms.uploadFile,
    { look: 'card' },
    (
      view,
    ) => html`${view.field('file')}${view.field('source', { choices })}${view.field('mode')}${view.field('kind')}
${view.field('dry-run')}${view.field('reason')}
${view.button('Upload', { look: 'primary' })}`,
  )
}

export async function uploadFile(
  visit: Visit,
  operator: ReasonedOperator,
  form: Submission<typeof forms.uploadFile>,
) {
  const { context, request } = visit
  const { db, config } = context
  const { source, mode, kind } = form.values
  const file = request.files?.get('file')
  if (!file || file.length === 0)
    throw new Invalid([{ field: 'file', problem: 'must be a file that is not empty' }])
  if (isPacked(file)) throw new Invalid([{ field: 'file', problem: 'is packed: unpack it first' }])
  const named = (await listNamedSources(db)).find((each) => each.source === source)
  if (!named) throw new Invalid([{ field: 'source', problem: 'must be one of the list' }])
  const { environment } = named
  const dryRun = form.values['dry-run']
  const draft = { source, environment, mode, dryRun, totalBytes: file.length }
  const chosenKind = kinds.find((each) => each === kind)
  const started = await startImport(db, draft, operator.act)
  const act = () => operator.act
  const lines = isJson(file) ? pieces(file) : convertCsv(pieces(file), chosenKind)
  const read = await readImport(db, started, lines, { act, isWhole: true })
  const ended = await finishImport(db, read, config.provisioning.removalPercent, operator.act)
  return leadToDone(visit, operator, `${importsPage}/${started.id}`, {
    text: tell(ended),
    link: { path: importsPage, label: 'Imports' },
  })
}

function tell({ dryRun, failed, state, lines }: Import): string {
  if (state === 'needs approval')
    return 'The file is read. It would remove so much that it waits for a decision.'
  const read = lines === 1 ? 'One line was read' : `${lines.toLocaleString('en')} lines were read`
  const faults = failed === 0 ? '' : failed === 1 ? ' 1 has a fault.' : ` ${failed} have a fault.`
  return `${read}${dryRun ? ', and nothing was changed' : ''}.${faults}`
}

const isPacked = (file: Buffer) => file[0] === 0x1f && file[1] === 0x8b

/** CSV begins with the names of columns. */
const isJson = (file: Buffer) => /^\uFEFF?\s*\{/.test(file.subarray(0, 1_000).toString('utf8'))

async function* pieces(file: Buffer): AsyncGenerator<Buffer> {
  yield file
}

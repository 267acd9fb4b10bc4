/** API calls as the portal and the console show them: what may be asked of the list, its table, and one call. */
import type { Sql } from '../../database/database.ts'
import { type CallFilter, findCallsByRequest, type KeptCall, listCalls } from '../../partners/calls.ts'
import { failureCauses } from '../../partners/failure-causes.ts'
import { demandCauses, type UnmetDemand } from '../../partners/proof-causes.ts'
import type { FieldProblem } from '../../problem.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { text, tick } from '../frame/field.ts'
import type { ValuesOf } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { type List, type ListColumn, printList } from '../frame/list.ts'
import { badge, facts, printMoment } from '../frame/parts.ts'
import type { Question } from '../frame/question.ts'

const pageSize = 50

export const callFields = {
  failed: tick({ label: 'Only failed calls' }),
  unmet: tick({ label: 'Only those that FAPI 2.0 would refuse' }),
  status: text({ label: 'Status', most: 3, more: html`placeholder="404 or 4xx" spellcheck="false"` }),
  route: text({ label: 'Route', most: 100, more: html`placeholder="POST /v2/webhooks" spellcheck="false"` }),
  client: text({ label: 'Client id', most: 24, more: html`spellcheck="false"` }),
  request: text({ label: 'Request id', most: 40, more: html`spellcheck="false"` }),
  /** Where the page begins; it has no field of the form. */
  before: text({ label: '', most: 40 }),
}

type CallValues = ValuesOf<typeof callFields>
type Asked = { readonly [Name in keyof CallValues]?: CallValues[Name] | undefined }
/** Of a list that may ask for more. */
type CallQuestion = Pick<Question<typeof callFields>, 'values' | 'print'>

export function findCallFaults({ status }: Asked): FieldProblem[] {
  return status === undefined || statusShape.test(status)
    ? []
    : [{ field: 'status', problem: 'must be a status such as 404, or a class such as 4xx' }]
}

const statusShape = /^[1-5](xx|\d\d)$/i

function filterBy({ failed, unmet, status, route, client, before }: Asked): CallFilter {
  const [, method, path] = /^([A-Za-z]+)?\s*(.*)$/.exec(route ?? '') ?? []
  return {
    onlyFailed: failed === true,
    onlyUnmet: unmet === true,
    status: status && { from: Number(status.replace(/x/gi, '0')), to: Number(status.replace(/x/gi, '9')) },
    method: method?.toUpperCase(),
    route: path || undefined,
    clientId: client,
    before: parsePlace(before),
  } as CallFilter
}

interface CallOwner {
  readonly branchId: number
  readonly environment: Environment
}

/** With where the next page begins. */
export async function searchCalls(sql: Sql, owner: CallOwner, asked: Asked, now: Date, most: number) {
  if (asked.request !== undefined)
    return { rows: await findCallsByRequest(sql, asked.request, owner, now, most), next: undefined }
  const rows = await listCalls(sql, owner, filterBy(asked), now, most)
  const last = rows.at(-1)
  return { rows, next: rows.length === most && last ? printPlace(last) : undefined }
}

/** `home` is where the calls are; each has its page below. */
export function callList(
  sql: Sql,
  owner: CallOwner,
  asked: Asked,
  now: Date,
  home: string,
): List<KeptCall, string> {
  return {
    name: 'calls',
    caption: 'API calls',
    empty: 'There are no such calls of the last 24 hours.',
    columns: columnsOf(home),
    read: (before, most) => searchCalls(sql, owner, { ...asked, before }, now, most),
  }
}

function printPlace({ at, id }: KeptCall): string {
  return `${at.getTime()}-${id}`
}

function parsePlace(text: string | undefined): CallFilter['before'] {
  const [, atMs, id] = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? '') ?? []
  return atMs === undefined ? undefined : { at: new Date(Number(atMs)), id: Number(id) }
}

export async function printCalls(
  list: List<KeptCall, string>,
  { values: { before }, print }: CallQuestion,
  home: string,
): Promise<Html> {
  const { rows, next } = await list.read(before, pageSize)
  return html`${printList(list, rows)}<nav class="pages" aria-label="Pages">${
    before !== undefined && html`<a href="${home}?${print({ before: undefined })}">Newest</a>`
  }
${next !== undefined && html`<a href="${home}?${print({ before: next })}" rel="next">Older</a>`}</nav>`
}

const columnsOf = (home: string): readonly ListColumn<KeptCall>[] => [
  {
    name: 'When (UTC)',
    cell: (call) =>
      html`<a href="${home}/${call.id}">${printMoment(call.at)}</a>${
        call.leftOut > 0 && html`<br><span class="faint">${printGap(call)}</span>`
      }`,
    text: ({ at }) => at,
  },
  { name: 'Status', cell: statusBadge, text: ({ status }) => status },
  {
    name: 'Call',
    look: 'url',
    cell: ({ method, route }) => `${method} ${route}`,
    text: ({ method, route }) => `${method} ${route}`,
  },
  { name: 'Took', look: 'number', cell: ({ durationMs }) => printTook(durationMs) },
  { name: 'Took (ms)', text: ({ durationMs }) => durationMs },
  {
    name: 'Why',
    cell: (call) =>
      html`${printCause(call)}${call.unmet !== null && html`<br><span class="faint">FAPI 2.0 would refuse it</span>`}`,
    text: ({ cause }) => cause && failureCauses[cause].problem,
  },
  { name: 'Unmet demands of FAPI 2.0', text: ({ unmet }) => unmet?.join(' ') ?? '' },
  { name: 'Error code', text: ({ code }) => code },
  { name: 'Fields at fault', text: ({ fields }) => fields.join(' ') },
  {
    name: 'Client',
    cell: ({ clientId, isClaimed }) =>
      html`<code>${clientId ?? 'a member'}</code>${isClaimed && html`<br><span class="faint">not proven</span>`}`,
    text: ({ clientId }) => clientId ?? 'a member',
  },
  { name: 'Proven', text: ({ isClaimed }) => (isClaimed ? 'no' : 'yes') },
  {
    name: 'Request id',
    cell: ({ requestId }) => html`<code>${requestId}</code>`,
    text: ({ requestId }) => requestId,
  },
  { name: 'Not listed before it', text: ({ leftOut }) => leftOut },
]

function printCause({ cause }: KeptCall): string {
  return cause === null ? '–' : failureCauses[cause].problem
}

function statusBadge({ status, code }: Pick<KeptCall, 'status' | 'code'>): Html {
  if (status === left) return badge('bad', 'No answer')
  return badge(code === null ? 'good' : 'bad', String(status))
}

/** As the log has it of a caller that was gone before its answer. */
const left = 499

function printGap({ leftOut, code }: KeptCall): string {
  const calls = `${leftOut.toLocaleString('en')} ${code === null ? '' : 'failed '}call${leftOut === 1 ? '' : 's'}`
  return `and ${calls} before it, not listed`
}

function printTook(durationMs: number): string {
  return durationMs < 10 ? `${durationMs.toFixed(1)} ms` : `${Math.round(durationMs).toLocaleString('en')} ms`
}

/** What the list leaves out, said once above it. */
export const keptWords =
  'Calls of the last 24 hours, a second or two after they were answered. Headers, values and bodies are never written down. A client that calls more than about once every two seconds for long has a sample here; each gap says how many calls it stands for.'

export function printCall(call: KeptCall, client: Html | string): Html {
  const { at, method, route, status, durationMs, requestId, code, cause, fields, isClaimed, leftOut, unmet } =
    call
  return html`<h1>${method} ${route}</h1>
<p>${statusBadge(call)} <span class="faint">${printMoment(at)}</span></p>
${
  cause !== null &&
  html`<section class="card"><h2>What went wrong</h2>
<p>${failureCauses[cause].problem}</p>
${fields.length > 0 && html`<p>Fields at fault: ${printNames(fields)}</p>`}
<p class="address"><strong>How to fix it:</strong> ${failureCauses[cause].remedy}</p></section>`
}
${
  unmet !== null &&
  html`<section class="card"><h2>What FAPI 2.0 would refuse</h2>
<p>The client is moving. From its date on, this call will be refused:</p>
<ul>${unmet.map((each) => printUnmet(each))}</ul></section>`
}
<section class="card"><h2>The call</h2>${facts([
    ['Status', status === left ? 'none: the caller closed the connection before' : String(status)],
    ['Error code', code !== null && html`<code>${code}</code>`],
    ['Took', printTook(durationMs)],
    ['Client', client],
    ['Identity', isClaimed ? 'not proven: the call only named this client' : 'proven by its credentials'],
    ['Request id', html`<code>${requestId}</code>`],
    ['Not listed', leftOut > 0 && printGap(call)],
  ])}</section>`
}

/** What was not met, and how it is. */
export function printUnmet(demand: UnmetDemand, more?: Html): Html {
  const { problem, remedy } = demandCauses[`fapi-${demand}`]
  return html`<li>${problem} ${remedy}${more}</li>`
}

function printNames(names: readonly string[]): Html[] {
  return names.map((name, n) => html`${n > 0 && ', '}<code>${name}</code>`)
}

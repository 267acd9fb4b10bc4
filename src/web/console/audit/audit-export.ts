/**
 * What a search of the audit log finds, as a file. It is read page by page and sent as it is read: never is
 * all of it in memory.
 */
import { Readable } from 'node:stream'
import { type AuditEntry, printEntry, recordAct } from '../../../audit/audit.ts'
import { logSubject } from '../../../audit/chain-check.ts'
import { walkEntries } from '../../../audit/entry-search.ts'
import { watchStanding } from '../../../http/standing.ts'
import { TooManyRequests } from '../../../problem.ts'
import { refuseForeignOrigin } from '../../frame/form-token.ts'
import type { Visit } from '../../frame/visit.ts'
import { judgeOperator, type Operator } from '../../gates/gates.ts'
import { csvHead, printCsvRow } from '../frame/csv.ts'
import { openEvidence, readTicked, searchOf } from './audit-evidence.ts'
import { readAuditQuestion } from './audit-question.ts'

const types = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
  evidence: 'application/jsonl; charset=utf-8',
}
const endings = { csv: 'csv', json: 'json', evidence: 'evidence.jsonl' }
const retrySeconds = 30

const columns = [
  'id',
  'at',
  'actor',
  'action',
  'subject',
  'environment',
  'address',
  'request_id',
  'details',
] as const

export async function exportAudit(visit: Visit, operator: Operator) {
  const { act } = operator
  const { context, request, reply } = visit
  // It leaves an entry in the log: no other site may bring that about.
  refuseForeignOrigin(request)
  const { asked, question } = readAuditQuestion(visit)
  if (asked.problem) throw asked.problem
  const { format = 'csv' } = asked.values
  const leave = await context.streams.take('console export')
  if (!leave) throw new TooManyRequests('Too many exports are under way at once.', retrySeconds)
  const watch = watchStanding(context, judgeOperator(visit, operator))
  const end = () => {
    leave()
    watch.close()
  }
  try {
    const entries = format === 'evidence' ? readTicked(visit.query) : []
    const search = entries.length > 0 ? { entries } : searchOf(asked)
    await recordAct(context.db, act, 'audit.exported', logSubject, { format, search })
    const left = new AbortController()
    const { socket } = request.raw
    socket.once('close', () => left.abort(new Error('The reader has left.')))
    // Half a file must not look like a whole one.
    watch.over.addEventListener('abort', () => watch.isRefused() && socket.destroy())
    const stop = AbortSignal.any([watch.over, left.signal])
    const pages = walkEntries(context.db, question, stop)
    const pieces =
      format === 'evidence' ? await openEvidence(visit, asked, pages, stop) : printers[format](pages)
    const body = Readable.from(pieces, { objectMode: false })
    // However it ends: read to the end, given up by the reader, or broken.
    body.once('close', end)
    const name = `countersign-audit-${act.at.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.${endings[format]}`
    return reply
      .header('content-disposition', `attachment; filename="${name}"`)
      .type(types[format])
      .send(body)
  } catch (error) {
    end()
    throw error
  }
}

const printers = { csv: printCsv, json: printJson }

async function* printCsv(pages: AsyncIterable<readonly AuditEntry[]>): AsyncGenerator<string> {
  yield csvHead(columns)
  for await (const page of pages) yield page.map((entry) => printCsvRow(cellsOf(entry))).join('')
}

function cellsOf(entry: AuditEntry): string[] {
  const printed = printEntry(entry)
  return columns.map((name) => {
    if (name === 'at') return entry.at.toISOString()
    if (name === 'details') return JSON.stringify(entry.details)
    return String(printed[name] ?? '')
  })
}

async function* printJson(pages: AsyncIterable<readonly AuditEntry[]>): AsyncGenerator<string> {
  let before = '[\n'
  for await (const page of pages) {
    yield before + page.map((entry) => JSON.stringify(printEntry(entry))).join(',\n')
    before = ',\n'
  }
  yield before === '[\n' ? '[]\n' : '\n]\n'
}

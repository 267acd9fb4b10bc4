/**
 * What a search of the audit log finds, as a file. It is read page by page and sent as it is read: never is
 * all of it in memory.
 */
import { type AuditEntry, printEntry, recordAct } from '../../../audit/audit.ts'
import { logSubject } from '../../../audit/chain-check.ts'
import { walkEntries } from '../../../audit/entry-search.ts'
import { Invalid } from '../../../problem.ts'
import { csvHead, printCsvRow } from '../../frame/csv.ts'
import { printStamp, sendFile } from '../../frame/file.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher } from '../../gates/gates.ts'
import { openEvidence, readTicked, searchOf } from './audit-evidence.ts'
import { readAuditQuestion } from './audit-question.ts'

const types = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
  evidence: 'application/jsonl; charset=utf-8',
}
const endings = { csv: 'csv', json: 'json', evidence: 'evidence.jsonl' }
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
  const { db } = visit.context
  const { asked, question, ambiguities } = await readAuditQuestion(visit, operator)
  if (asked.problem) throw asked.problem
  if (ambiguities.length > 0)
    throw new Invalid(ambiguities.map(({ field }) => ({ field, problem: 'is a name that several have' })))
  const { format = 'csv' } = asked.values
  return sendFile(visit, {
    name: `countersign-audit-${printStamp(act.at)}.${endings[format]}`,
    type: types[format],
    watcher: operatorWatcher(visit, operator),
    async open(stop) {
      const entries = format === 'evidence' ? readTicked(visit.query) : []
      const search = entries.length > 0 ? { entries } : searchOf(asked)
      await recordAct(db, act, 'audit.exported', logSubject, { format, search })
      const pages = walkEntries(db, question, stop)
      return format === 'evidence' ? openEvidence(visit, asked, pages, stop) : printers[format](pages)
    },
  })
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

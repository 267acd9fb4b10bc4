/**
 * What was chosen of the audit log, with the proof that it stands there: the entries that were ticked, or all
 * that the search finds.
 */
import type { AuditEntry } from '../../../audit/audit.ts'
import { findIds } from '../../../audit/entry-search.ts'
import { printEvidence } from '../../../audit/evidence.ts'
import type { Form } from '../../../http/form.ts'
import { Invalid } from '../../../problem.ts'
import type { Visit } from '../../frame/visit.ts'
import { type AskedOfLog, printSearch } from './audit-question.ts'

const entriesAtMost = 10_000
/**
 * So many are proven before the first piece is sent, so that what is wrong is told on a page instead of by a
 * broken connection.
 */
const provenFirst = 200

export async function openEvidence(
  { context, query }: Visit,
  asked: AskedOfLog,
  pages: AsyncIterable<readonly AuditEntry[]>,
  stop: AbortSignal,
): Promise<AsyncIterable<string> | Iterable<string>> {
  const ticked = readTicked(query)
  const ids = ticked.length > 0 ? await findIds(context.db, ticked) : await gatherIds(pages)
  const search = ticked.length > 0 ? { entries: ticked.join(' ') } : searchOf(asked)
  const deps = {
    db: context.db,
    vault: context.vault,
    clock: context.clock,
    file: context.config.auditAnchorFile,
  }
  const evidence = stopWith(stop, printEvidence(deps, { ids, search }))
  if (ids.length > provenFirst) return evidence
  const pieces: string[] = []
  for await (const piece of evidence) pieces.push(piece)
  return pieces
}

async function* stopWith(stop: AbortSignal, pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces) {
    stop.throwIfAborted()
    yield piece
  }
}

/** None where all that a search finds is meant. */
export function readTicked({ entry = [], of }: Form): number[] {
  const ticked = [entry].flat()
  if (of === 'ticked' && ticked.length === 0)
    throw new Invalid([{ field: 'entry', problem: 'must be ticked in the list: choose at least one' }])
  if (ticked.length > entriesAtMost || !ticked.every((text) => /^[1-9]\d{0,14}$/.test(text)))
    throw new Invalid([{ field: 'entry', problem: 'must be the number of an entry' }])
  return [...new Set(ticked.map(Number))]
}

async function gatherIds(pages: AsyncIterable<readonly AuditEntry[]>): Promise<number[]> {
  const ids: number[] = []
  for await (const page of pages) {
    ids.push(...page.map(({ id }) => id))
    if (ids.length > entriesAtMost)
      throw new Invalid([
        {
          field: 'from',
          problem: `must leave at most ${entriesAtMost.toLocaleString('en')} entries for a proof: narrow the search`,
        },
      ])
  }
  return ids
}

/** What was typed into the fields of the search. */
export function searchOf(asked: AskedOfLog): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(printSearch(asked)))
}

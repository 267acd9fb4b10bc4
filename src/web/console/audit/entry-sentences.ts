/** Entries of the audit log as an operator reads them: “Olga locked Alice, 3 min ago”. */
import type { AuditEntry } from '../../../audit/audit.ts'
import { referencesOf, type Sentence, tell } from '../../../audit/sentence.ts'
import type { Sql } from '../../../database/database.ts'
import { printAgo } from '../../frame/ago.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import type { Reader } from '../frame/console.ts'
import { findNames, type Names, printName } from '../frame/names.ts'

export function findNamesIn(sql: Sql, entries: readonly AuditEntry[], reader: Reader): Promise<Names> {
  return findNames(sql, referencesOf(entries), reader)
}

export function printSentence(entry: AuditEntry, names: Names): Html {
  return html`${printParts(tell(entry), names)}`
}

function printParts(sentence: Sentence, names: Names): Html[] {
  return sentence.map((part) => (typeof part === 'string' ? html`${part}` : printName(part.id, names)))
}

interface SentenceContext {
  readonly db: Sql
  readonly now: Date
  readonly operator: Reader
}

/** The newest few of something, with the way to all of them. */
export async function printNewest(
  { db, now, operator }: SentenceContext,
  entries: readonly AuditEntry[],
  all: Content,
): Promise<Html> {
  if (entries.length === 0) return html`<p class="empty">Nothing is recorded.</p>`
  const names = await findNamesIn(db, entries, operator)
  const items = entries.map(
    (entry) => html`<li><div>${printSentence(entry, names)}, ${printAgo(entry.at, now)}</div></li>`,
  )
  return html`<ul class="tokens">${items}</ul><p>${all}</p>`
}

/** Entries of the audit log as an operator reads them: “Olga locked Alice, 3 min ago”. */
import type { AuditEntry } from '../../audit/audit.ts'
import { referencesOf, type Sentence, tell } from '../../audit/sentence.ts'
import type { Sql } from '../../database/database.ts'
import { type Content, type Html, html } from '../frame/html.ts'
import { printAgo } from './ago.ts'
import { findNames, type Names, printName } from './names.ts'

export function findNamesIn(sql: Sql, entries: readonly AuditEntry[]): Promise<Names> {
  return findNames(sql, referencesOf(entries))
}

export function printSentence(entry: AuditEntry, names: Names): Html {
  return html`${printParts(tell(entry), names)}`
}

function printParts(sentence: Sentence, names: Names): Html[] {
  return sentence.map((part) => (typeof part === 'string' ? html`${part}` : printName(part.id, names)))
}

/** The newest few of something, with the way to all of them. */
export async function printNewest(sql: Sql, entries: readonly AuditEntry[], all: Content, now: Date): Promise<Html> {
  if (entries.length === 0) return html`<p class="empty">Nothing is recorded.</p>`
  const names = await findNamesIn(sql, entries)
  const items = entries.map(
    (entry) => html`<li><div>${printSentence(entry, names)}, ${printAgo(entry.at, now)}</div></li>`,
  )
  return html`<ul class="tokens">${items}</ul><p>${all}</p>`
}

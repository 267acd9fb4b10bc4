import { instant, int, orNull, text } from '../database/column.ts'
import { firstSince } from '../database/halving.ts'
import { statement } from '../database/statement.ts'
import { entryColumns, entryRow } from './entries.sql.ts'

/**
 * `reached` is where the window ends; 0 when there is no more below. A window in which nothing is found
 * answers one row without an entry. Compared as pairs, because only the index of the column has that order:
 * see webhooks/deliveries/delivery-search.sql.ts.
 */
function search(name: string, of: 'actor' | 'subject' | undefined) {
  const between = (low: string) =>
    of
      ? `(${of}, id) < (:${of}::text, :before) AND (${of}, id) >= (:${of}::text, ${low})`
      : `id < :before AND id >= ${low}`
  const newestFirst = of ? `ORDER BY ${of} DESC, id DESC` : 'ORDER BY id DESC'
  return statement({
    name,
    takes: {
      before: int,
      lowest: int,
      window: int,
      most: int,
      actor: orNull(text),
      action: orNull(text),
      subject: orNull(text),
      environment: orNull(text),
      address: orNull(text),
      from: orNull(instant),
      to: orNull(instant),
    },
    gives: {
      reached: int,
      ...entryRow,
      id: orNull(entryRow.id),
      at: orNull(entryRow.at),
      actor: orNull(entryRow.actor),
      action: orNull(entryRow.action),
      subject: orNull(entryRow.subject),
      details: orNull(entryRow.details),
    },
    text: `WITH reached AS MATERIALIZED (
       SELECT coalesce((SELECT id FROM audit_entries
         WHERE ${between(':lowest')} ${newestFirst} OFFSET :window::bigint - 1 LIMIT 1), 0) AS id)
     SELECT reached.id AS reached, page.* FROM reached LEFT JOIN LATERAL (
       SELECT ${entryColumns} FROM audit_entries
       WHERE ${between('greatest(:lowest, reached.id)')}
         AND (:actor::text IS NULL OR actor = :actor)
         AND (:action::text IS NULL OR action = :action OR starts_with(action, :action || '.'))
         AND (:subject::text IS NULL OR subject = :subject)
         AND (:environment::text IS NULL OR coalesce(environment, 'none') = :environment)
         AND (:address::text IS NULL OR address = :address)
         AND (:from::timestamptz IS NULL OR at >= :from) AND (:to::timestamptz IS NULL OR at < :to)
       ${newestFirst} LIMIT :most) page ON true
     ORDER BY page.id DESC`,
  })
}

export const searchAll = search('search_entries', undefined)

export const searchActor = search('search_entries_of_actor', 'actor')

export const searchSubject = search('search_entries_of_subject', 'subject')

export const selectFirstSince = firstSince('select_first_entry_since', 'audit_entries', 'at')

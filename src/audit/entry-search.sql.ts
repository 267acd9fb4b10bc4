import { type Statement, statement } from '../database/database.ts'
import { firstSince } from '../database/halving.ts'
import { entryColumns } from './entries.sql.ts'

/**
 * `reached` is where the window ends; 0 when there is no more below. Compared as pairs, because only the index of the column has that
 * order: see webhooks/deliveries/delivery-search.sql.ts.
 */
function search(name: string, of: 'actor' | 'subject' | undefined): Statement {
  const value = of === 'actor' ? '$5::text' : '$7::text'
  const between = (low: string) =>
    of ? `(${of}, id) < (${value}, $1) AND (${of}, id) >= (${value}, ${low})` : `id < $1 AND id >= ${low}`
  const newestFirst = of ? `ORDER BY ${of} DESC, id DESC` : 'ORDER BY id DESC'
  return statement(
    name,
    `WITH reached AS MATERIALIZED (
       SELECT coalesce((SELECT id FROM audit_entries WHERE ${between('$2')} ${newestFirst} OFFSET $3::bigint - 1 LIMIT 1), 0) AS id)
     SELECT reached.id AS reached, page.* FROM reached LEFT JOIN LATERAL (
       SELECT ${entryColumns} FROM audit_entries
       WHERE ${between('greatest($2, reached.id)')}
         AND ($5::text IS NULL OR actor = $5) AND ($6::text IS NULL OR action = $6 OR starts_with(action, $6 || '.'))
         AND ($7::text IS NULL OR subject = $7) AND ($8::text IS NULL OR coalesce(environment, 'none') = $8)
         AND ($9::text IS NULL OR address = $9)
         AND ($10::timestamptz IS NULL OR at >= $10) AND ($11::timestamptz IS NULL OR at < $11)
       ${newestFirst} LIMIT $4) page ON true
     ORDER BY page.id DESC`,
  )
}

export const searchAll = search('search_entries', undefined)

export const searchActor = search('search_entries_of_actor', 'actor')

export const searchSubject = search('search_entries_of_subject', 'subject')

export const selectFirstSince = firstSince('select_first_entry_since', 'audit_entries', 'at')

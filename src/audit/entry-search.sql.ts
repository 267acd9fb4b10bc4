import { instant, int, list, orNull, text } from '../database/column.ts'
import { firstSince } from '../database/halving.ts'
import { statement } from '../database/statement.ts'
import type { AuditAction } from './action.ts'
import { entryColumns, entryRow } from './entries.sql.ts'

const ofApplications = `('code.exchanged', 'token.refreshed', 'token.rotated')`

/**
 * `reached` is where the window ends; 0 when there is no more below. A window in which nothing is found
 * answers one row without an entry. Compared as pairs, because only the index of the column has that order:
 * see webhooks/deliveries/delivery-search.sql.ts.
 */
function search(name: string, of?: 'actor' | 'subject' | 'request_id') {
  const value = of === 'request_id' ? 'requestId' : of
  // Its index has no others; that a pair has no null is not concluded from a comparison.
  const indexed = of === 'request_id' ? ` AND request_id IS NOT NULL AND action NOT IN ${ofApplications}` : ''
  const between = (low: string) =>
    of
      ? `(${of}, id) < (:${value}::text, :before) AND (${of}, id) >= (:${value}::text, ${low})${indexed}`
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
      actions: orNull(list(text)),
      subject: orNull(text),
      requestId: orNull(text),
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
         AND (:actions::text[] IS NULL OR action = ANY (:actions))
         AND (:subject::text IS NULL OR subject = :subject)
         AND (:requestId::text IS NULL OR request_id = :requestId)
         AND (:environment::text IS NULL OR coalesce(environment, 'none') = :environment)
         AND (:address::text IS NULL OR address = :address)
         AND (:from::timestamptz IS NULL OR at >= :from) AND (:to::timestamptz IS NULL OR at < :to)
       ${newestFirst} LIMIT :most) page ON true
     ORDER BY page.id DESC`,
  })
}

/** What happens all day, of which there is no index by action. */
export const frequentActions = [
  'code.exchanged',
  'token.refreshed',
  'token.rotated',
  'session.opened',
  'session.closed',
] as const satisfies readonly AuditAction[]
const frequent = frequentActions.map((action) => `'${action}'`).join(', ')

/** Of each action the newest, down its index: compared as pairs, or one that never was is looked for in them all. */
export const selectOfActions = statement({
  name: 'select_entries_of_actions',
  takes: {
    actions: list(text),
    before: int,
    lowest: int,
    most: int,
    from: orNull(instant),
    to: orNull(instant),
  },
  gives: entryRow,
  text: `SELECT newest.* FROM unnest(:actions::text[]) AS sought (what) CROSS JOIN LATERAL (
     SELECT ${entryColumns} FROM audit_entries
     WHERE (action, id) < (what, :before) AND (action, id) >= (what, :lowest) AND action NOT IN (${frequent})
       AND (:from::timestamptz IS NULL OR at >= :from) AND (:to::timestamptz IS NULL OR at < :to)
     ORDER BY action DESC, id DESC LIMIT :most) newest
   ORDER BY newest.id DESC LIMIT :most`,
})

export const searchAll = search('search_entries')

export const searchActor = search('search_entries_of_actor', 'actor')

export const searchSubject = search('search_entries_of_subject', 'subject')

export const searchRequest = search('search_entries_of_request', 'request_id')

export const selectFirstSince = firstSince('select_first_entry_since', 'audit_entries', 'at')

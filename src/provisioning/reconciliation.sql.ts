import { statement } from '../database/database.ts'

/** Living customers of a source after a name, in the order of its bytes, each with what they hold; `line` is what checksums are made of. */
const pageOf = `SELECT u.id, u.external_id AS "externalId", u.version, u.name, u.status, held.holdings,
     u.external_id || ' ' || coalesce(u.version, 0) || coalesce(held.line, '') AS line
   FROM customers_after($1, $2, $3) AS u
   CROSS JOIN LATERAL (
     SELECT jsonb_agg(jsonb_build_object('account', a.external_id, 'number', a.account_number, 'accountVersion', coalesce(a.version, 0), 'accountStatus', a.status,
              'role', h.role, 'status', h.status, 'version', coalesce(h.version, 0)) ORDER BY a.external_id) AS holdings,
            string_agg(' ' || a.external_id || ' ' || coalesce(a.version, 0) || ' ' || coalesce(h.version, 0), '' ORDER BY a.external_id) AS line
     FROM holdings h
     CROSS JOIN LATERAL (SELECT * FROM accounts WHERE account_number = h.account_number AND source IS NOT DISTINCT FROM $1 AND removed_at IS NULL OFFSET 0) AS a
     WHERE h.user_id = u.id AND h.status <> 'removed' OFFSET 0) AS held`

const checksum = `encode(sha256(convert_to(string_agg(line || E'\\n', '' ORDER BY "externalId"), 'UTF8')), 'hex')`

export const selectCustomers = statement(
  'select_customers_of_source',
  `SELECT p.id, p."externalId", p.version, p.name, p.status, coalesce(p.holdings, '[]') AS holdings, p.line FROM (${pageOf}) AS p ORDER BY p."externalId"`,
)

/** $4 customers a checksum. */
export const selectChecksums = statement(
  'select_checksums_of_source',
  `SELECT max("externalId") AS last, count(*) AS customers, ${checksum} AS checksum
   FROM (SELECT "externalId", line, (row_number() OVER (ORDER BY "externalId") - 1) / $4 AS page FROM (${pageOf}) AS p) AS numbered
   GROUP BY page ORDER BY page`,
)

/** How old the newest word of each source is, as it says itself or as it was heard, and what waits. $1 is now. */
export const selectSources = statement(
  'select_sources',
  `SELECT s.name AS source, s.environment, greatest(0, extract(epoch FROM $1 - s.heard_at))::float8 AS "silentSeconds",
     greatest(0, extract(epoch FROM $1 - greatest(s.newest_at, CASE WHEN s.newest_at = 'epoch' THEN s.heard_at ELSE s.newest_at END)))::float8 AS "lagSeconds",
     (SELECT count(*) FROM waiting_holdings w WHERE w.source = s.name AND w.status <> 'removed') AS waiting
   FROM sources s ORDER BY s.name`,
)

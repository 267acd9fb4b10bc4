import { float, instant, int, json, list, oneOf, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { environments } from '../vocabulary/environment.ts'

/**
 * What a source may never send has a value of ours, or none: a caller that says so (`:without`) gets an empty
 * one in its place.
 */
const unless = (field: string, value: string) =>
  `CASE WHEN '${field}' = ANY (:without::text[]) THEN '' ELSE coalesce(${value}, '') END`

/** With tabs between: no value holds one. */
const tabbed = (...values: string[]) => values.join(` || E'\\t' || `)

const customerLine = tabbed(
  'u.external_id',
  'coalesce(u.version, 0)::text',
  'u.name',
  unless('username', 'u.username'),
  unless('email', 'u.email'),
  unless('locale', 'u.locale'),
  'coalesce(u.source_status, u.status)',
)

const openedAt = `to_char(a.date_created AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
const mayAuthorize = `ARRAY(SELECT s FROM unnest('{read,write,market,trade,stream}'::text[]) AS s
  WHERE s = ANY (h.scopes))`

const holdingLine = tabbed(
  'a.external_id',
  'coalesce(a.version, 0)::text',
  'a.account_number',
  'a.type',
  'a.classification',
  'a.status',
  'a.option_level::text',
  'a.day_trader::text',
  unless('openedAt', openedAt),
  'coalesce(h.version, 0)::text',
  'h.role',
  `array_to_string(${mayAuthorize}, ' ')`,
  'h.status',
)

const page = { source: text, after: text, most: int, without: list(text) }

/**
 * Living customers of a source after a name, in the order of its bytes, each with what they hold; `line` is
 * what checksums are made of: everything that a source says.
 */
const pageOf = `SELECT u.id, u.external_id AS "externalId", u.version, u.name, u.username, u.email, u.locale,
     u.status, held.holdings, ${customerLine} || coalesce(held.line, '') AS line
   FROM customers_after(:source, :after, :most) AS u
   CROSS JOIN LATERAL (
     SELECT jsonb_agg(jsonb_build_object('account', a.external_id, 'number', a.account_number,
         'accountVersion', coalesce(a.version, 0), 'accountStatus', a.status, 'type', a.type,
         'classification', a.classification, 'optionLevel', a.option_level, 'dayTrader', a.day_trader,
         'openedAt', ${openedAt}, 'role', h.role, 'mayAuthorize', ${mayAuthorize}, 'status', h.status,
         'version', coalesce(h.version, 0)) ORDER BY a.external_id) AS holdings,
       string_agg(E'\\t' || ${holdingLine}, '' ORDER BY a.external_id) AS line
     FROM holdings h
     CROSS JOIN LATERAL (SELECT * FROM accounts WHERE account_number = h.account_number
       AND source IS NOT DISTINCT FROM :source AND removed_at IS NULL OFFSET 0) AS a
     WHERE h.user_id = u.id AND h.status <> 'removed' OFFSET 0) AS held`

const checksum = `encode(sha256(convert_to(string_agg(line || E'\\n', '' ORDER BY "externalId"), 'UTF8')),
  'hex')`

interface KnownHolding {
  readonly account: string
  readonly number: string
  readonly accountVersion: number
  readonly accountStatus: 'active' | 'closed'
  readonly type: string
  readonly classification: string
  readonly optionLevel: number
  readonly dayTrader: boolean
  readonly openedAt: string
  readonly role: string
  readonly mayAuthorize: readonly string[]
  readonly status: 'active' | 'suspended'
  readonly version: number
}

export const selectCustomers = statement({
  name: 'select_customers_of_source',
  takes: page,
  gives: {
    id: text,
    externalId: text,
    version: orNull(int),
    name: text,
    username: text,
    email: orNull(text),
    locale: orNull(text),
    status: oneOf('active', 'disabled'),
    holdings: json<readonly KnownHolding[]>(),
    line: text,
  },
  text: `SELECT p.id, p."externalId", p.version, p.name, p.username, p.email, p.locale, p.status,
     coalesce(p.holdings, '[]') AS holdings, p.line
   FROM (${pageOf}) AS p ORDER BY p."externalId"`,
})

/** Each of so many customers. */
export const selectChecksums = statement({
  name: 'select_checksums_of_source',
  takes: { ...page, customersAPage: int },
  gives: { last: text, customers: int, checksum: text },
  text: `SELECT max("externalId") AS last, count(*) AS customers, ${checksum} AS checksum
   FROM (SELECT "externalId", line, (row_number() OVER (ORDER BY "externalId") - 1) / :customersAPage AS page
     FROM (${pageOf}) AS p) AS numbered
   GROUP BY page ORDER BY page`,
})

/**
 * How old the newest word of each source that has said something is, as it says itself or as it was heard,
 * and what waits.
 */
export const selectSources = statement({
  name: 'select_sources',
  takes: { now: instant },
  gives: {
    source: text,
    environment: oneOf(...environments),
    silentSeconds: float,
    lagSeconds: float,
    waiting: int,
  },
  text: `SELECT s.name AS source, s.environment,
     greatest(0, extract(epoch FROM :now - s.heard_at))::float8 AS "silentSeconds",
     greatest(0, extract(epoch FROM :now - coalesce(s.newest_at, s.heard_at)))::float8 AS "lagSeconds",
     (SELECT count(*) FROM waiting_holdings w WHERE w.source = s.name AND w.status <> 'removed') AS waiting
   FROM sources s WHERE s.heard_at IS NOT NULL ORDER BY s.name`,
})

/**
 * What is known of a source, page by page, and checksums of a thousand customers each: a source that has the
 * same lines has the same checksum, and need not look further.
 */
import { createHash } from 'node:crypto'
import type { Sql } from '../database/database.ts'
import type { Origin } from './provisioning.ts'
import * as table from './reconciliation.sql.ts'

export const customersAPage = 1_000
const pagesAtOnce = 100

/**
 * What a source may never send: it has another value here, or none, and is left out of the checksums for
 * callers that say so.
 */
export const optionalFields = ['username', 'email', 'locale', 'openedAt'] as const
type OptionalField = (typeof optionalFields)[number]

interface ReconciliationQuery {
  readonly after: string
  readonly without: readonly OptionalField[]
}

export async function listCustomers(
  sql: Sql,
  { source }: Origin,
  { after, without }: ReconciliationQuery,
  limit: number,
) {
  const rows = await sql.query(table.selectCustomers, { source, after, most: limit + 1, without })
  const page = rows.slice(0, limit)
  const hash = createHash('sha256')
  for (const { line } of page) hash.update(`${line}\n`)
  const customers = page.map(({ line: _, version, email, locale, ...customer }) => ({
    ...{
      ...customer,
      version: version ?? 0,
      ...(email !== null && { email }),
      ...(locale !== null && { locale }),
    },
  }))
  return {
    customers,
    checksum: hash.digest('hex'),
    next: rows.length > limit ? page.at(-1)?.externalId : undefined,
  }
}

/** Of a hundred thousand customers at a time. */
export async function listChecksums(sql: Sql, { source }: Origin, { after, without }: ReconciliationQuery) {
  const most = pagesAtOnce * customersAPage
  const checksums = await sql.query(table.selectChecksums, { source, after, most, without, customersAPage })
  const counted = checksums.reduce((sum, { customers }) => sum + customers, 0)
  return { checksums, next: counted === most ? checksums.at(-1)?.last : undefined }
}

export function listSources(sql: Sql, now: Date) {
  return sql.query(table.selectSources, { now })
}

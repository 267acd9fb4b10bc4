/** What is known of a source, page by page, and checksums of a thousand customers each: whoever has the same lines has the same checksum, and need not look further. */
import { createHash } from 'node:crypto'
import type { Sql } from '../database/database.ts'
import type { Origin } from './provisioning.ts'
import * as table from './reconciliation.sql.ts'

export const customersAPage = 1_000
const pagesAtOnce = 100

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

interface KnownCustomer {
  readonly id: string
  readonly externalId: string
  readonly version: number | null
  readonly name: string
  readonly username: string
  readonly email: string | null
  readonly locale: string | null
  readonly status: 'active' | 'disabled'
  readonly holdings: readonly KnownHolding[]
}

/** What a source may never send: it has another value here, or none, and is left out of the checksums of whoever says so. */
export const mayBeUnsaid = ['username', 'email', 'locale', 'openedAt'] as const
export type Unsaid = (typeof mayBeUnsaid)[number]

interface Asked {
  readonly after: string
  readonly without: readonly Unsaid[]
}

export async function listCustomers(sql: Sql, { source }: Origin, { after, without }: Asked, limit: number) {
  const values = [source, after, limit + 1, without]
  const rows = await sql.query<KnownCustomer & { line: string }>(table.selectCustomers, values)
  const page = rows.slice(0, limit)
  const hash = createHash('sha256')
  for (const { line } of page) hash.update(`${line}\n`)
  const customers = page.map(({ line: _, version, email, locale, ...customer }) => ({
    ...{ ...customer, version: version ?? 0, ...(email !== null && { email }), ...(locale !== null && { locale }) },
  }))
  return { customers, checksum: hash.digest('hex'), next: rows.length > limit ? page.at(-1)!.externalId : undefined }
}

interface Checksum {
  readonly last: string
  readonly customers: number
  readonly checksum: string
}

/** Of a hundred thousand customers at a time. */
export async function listChecksums(sql: Sql, { source }: Origin, { after, without }: Asked) {
  const most = pagesAtOnce * customersAPage
  const checksums = await sql.query<Checksum>(table.selectChecksums, [source, after, most, without, customersAPage])
  const counted = checksums.reduce((sum, { customers }) => sum + customers, 0)
  return { checksums, next: counted === most ? checksums.at(-1)!.last : undefined }
}

interface SourceState {
  readonly source: string
  readonly environment: string
  readonly silentSeconds: number
  readonly lagSeconds: number
  readonly waiting: number
}

export function listSources(sql: Sql, now: Date): Promise<SourceState[]> {
  return sql.query<SourceState>(table.selectSources, [now])
}

/** Partners as operators look for them: page by page, newest first. */
import type { Sql } from '../database/database.ts'
import type { Partner } from './partner.ts'
import { selectInState, selectNamed, selectPage } from './partner-search.sql.ts'
import type { PartnerStatus } from './partner-status.ts'

/** No branch has this number. */
const beyondAll = 2_147_483_647

interface PartnerQuestion {
  readonly state?: PartnerStatus | undefined
  /** Words of the name, or the branch id. */
  readonly text?: string | undefined
  /** Where the page before ended. */
  readonly before?: number | undefined
}

interface PartnerPage {
  readonly partners: readonly Partner[]
  /** Where the next page begins; undefined on the last one. */
  readonly before: number | undefined
}

export async function findPartners(sql: Sql, question: PartnerQuestion, limit: number): Promise<PartnerPage> {
  const found = await select(sql, question, limit + 1)
  const partners = found.slice(0, limit)
  return { partners, before: found.length > limit ? partners.at(-1)?.branchId : undefined }
}

function select(
  sql: Sql,
  { state: status, text, before = beyondAll }: PartnerQuestion,
  most: number,
): Promise<Partner[]> {
  const page = { before: Math.min(before, beyondAll), most }
  if (text !== undefined)
    return sql.query(selectNamed, { ...page, status, name: text, branchId: branchOf(text) })
  return status === undefined ? sql.query(selectPage, page) : sql.query(selectInState, { ...page, status })
}

function branchOf(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) && Number(text) < beyondAll ? Number(text) : undefined
}

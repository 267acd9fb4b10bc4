/** Partners as operators look for them: page by page, newest first. */
import { type Sql, statement } from '../database/database.ts'
import type { Partner, PartnerStatus } from './partner.ts'

const columns = 'branch_id, name, status, status_reason, refresh_access, created_at'

const selectPage = statement(
  'select_page_of_partners',
  `SELECT ${columns} FROM partners WHERE branch_id < $1 ORDER BY branch_id DESC LIMIT $2`,
)

const selectInState = statement(
  'select_partners_in_state',
  `SELECT ${columns} FROM partners WHERE branch_id < $1 AND status = $3 ORDER BY branch_id DESC LIMIT $2`,
)

/** Every word that was typed begins a word of the name, or the number is the branch's. */
const selectNamed = statement(
  'select_partners_named',
  `SELECT ${columns} FROM partners
   WHERE (branch_id = $5::int OR name_words(name) @@
     (SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery FROM unnest(name_words($4))))
     AND branch_id < $1 AND ($3::text IS NULL OR status = $3) ORDER BY branch_id DESC LIMIT $2`,
)

/** No branch has this number. */
const beyondAll = 2_147_483_647

export interface PartnerQuestion {
  readonly state?: PartnerStatus | undefined
  /** Words of the name, or the branch id. */
  readonly text?: string | undefined
  /** Where the page before ended. */
  readonly before?: number | undefined
}

export interface PartnerPage {
  readonly partners: readonly Partner[]
  /** Where the next page begins; undefined on the last one. */
  readonly before: number | undefined
}

export async function findPartners(sql: Sql, question: PartnerQuestion, limit: number): Promise<PartnerPage> {
  const found = await select(sql, question, limit + 1)
  const partners = found.slice(0, limit)
  return { partners, before: found.length > limit ? partners.at(-1)!.branch_id : undefined }
}

function select(sql: Sql, { state, text, before = beyondAll }: PartnerQuestion, limit: number): Promise<Partner[]> {
  const values = [Math.min(before, beyondAll), limit]
  if (text !== undefined) return sql.query<Partner>(selectNamed, [...values, state, text, branchOf(text)])
  return state === undefined
    ? sql.query<Partner>(selectPage, values)
    : sql.query<Partner>(selectInState, [...values, state])
}

function branchOf(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) && Number(text) < beyondAll ? Number(text) : undefined
}

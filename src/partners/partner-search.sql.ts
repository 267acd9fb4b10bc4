import { statement } from '../database/database.ts'
import { partnerColumns } from './partners.sql.ts'

export const selectPage = statement(
  'select_page_of_partners',
  `SELECT ${partnerColumns} FROM partners WHERE branch_id < $1 ORDER BY branch_id DESC LIMIT $2`,
)

export const selectInState = statement(
  'select_partners_in_state',
  `SELECT ${partnerColumns} FROM partners WHERE branch_id < $1 AND status = $3 ORDER BY branch_id DESC LIMIT $2`,
)

/** Every word that was typed begins a word of the name, or the number is the branch's. */
export const selectNamed = statement(
  'select_partners_named',
  `SELECT ${partnerColumns} FROM partners
   WHERE (branch_id = $5::int OR name_words(name) @@
     (SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery FROM unnest(name_words($4))))
     AND branch_id < $1 AND ($3::text IS NULL OR status = $3) ORDER BY branch_id DESC LIMIT $2`,
)

import { int, orNull, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { partnerColumns, partnerRow } from './partners.sql.ts'

export const selectPage = statement({
  name: 'select_page_of_partners',
  takes: { before: int, most: int },
  gives: partnerRow,
  text: `SELECT ${partnerColumns} FROM partners WHERE branch_id < :before
   ORDER BY branch_id DESC LIMIT :most`,
})

export const selectInState = statement({
  name: 'select_partners_in_state',
  takes: { before: int, most: int, status: text },
  gives: partnerRow,
  text: `SELECT ${partnerColumns} FROM partners WHERE branch_id < :before AND status = :status
   ORDER BY branch_id DESC LIMIT :most`,
})

/** Every word that was typed begins a word of the name, or the number is the branch's. */
export const selectNamed = statement({
  name: 'select_partners_named',
  takes: { before: int, most: int, status: orNull(text), name: text, branchId: orNull(int) },
  gives: partnerRow,
  text: `SELECT ${partnerColumns} FROM partners
   WHERE (branch_id = :branchId::int OR name_words(name) @@
     (SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery FROM unnest(name_words(:name))))
     AND branch_id < :before AND (:status::text IS NULL OR status = :status)
   ORDER BY branch_id DESC LIMIT :most`,
})

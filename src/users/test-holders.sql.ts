import { instant, int, list, oneOf, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/** People, accounts, and who of them holds which. */
export const insertTestHolders = statement({
  name: 'insert_test_holders',
  takes: {
    branchId: int,
    now: instant,
    usernames: list(text),
    names: list(text),
    numbers: list(text),
    classifications: list(text),
    types: list(text),
    optionLevels: list(int),
    holders: list(text),
    held: list(text),
    roles: list(text),
  },
  text: `WITH people AS (
     INSERT INTO users (id, username, name, role, test_of, created_at, updated_at)
     SELECT new_user_id(), p.username, p.name, 'test', :branchId, :now, :now
     FROM unnest(:usernames::text[], :names::text[]) AS p (username, name) RETURNING id, username),
   opened AS (
     INSERT INTO accounts (account_number, environment, classification, type, option_level, test_of,
       date_created, last_update_date)
     SELECT a.number, 'sandbox', a.classification, a.type, a.option_level, :branchId, :now, :now
     FROM unnest(:numbers::text[], :classifications::text[], :types::text[], :optionLevels::bigint[])
       AS a (number, classification, type, option_level) RETURNING account_number)
   INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
   SELECT people.id, opened.account_number, h.role, scopes_of_role(h.role), :now, :now
   FROM unnest(:holders::text[], :held::text[], :roles::text[]) AS h (username, number, role)
     JOIN people USING (username) JOIN opened ON opened.account_number = h.number`,
})

export const selectTestHolders = statement({
  name: 'select_test_holders',
  takes: { branchId: int },
  gives: { id: text, username: text, name: text, status: oneOf('active', 'disabled') },
  text: `SELECT id, username, name, status FROM users WHERE test_of = :branchId ORDER BY username COLLATE "C"`,
})

import { statement } from '../database/database.ts'
import { userColumns } from './users.sql.ts'

export const selectPage = statement(
  'select_page_of_users',
  `SELECT ${userColumns} FROM users WHERE username COLLATE "C" > $1 ORDER BY username COLLATE "C" LIMIT $2`,
)

/**
 * The beginning of the username, words of the name, the id, or the number of an account. No letter of a username comes after `~`.
 * A word that thousands are called by finds the first of them: who looks for one person has to type more.
 */
export const selectNamed = statement(
  'select_users_named',
  `SELECT found.* FROM (
     SELECT ${userColumns} FROM users WHERE id = lower($3)
     UNION
     SELECT ${userColumns} FROM users
     WHERE id IN (SELECT user_id FROM holdings WHERE account_number = upper($3) AND status <> 'removed')
     UNION
     SELECT ${userColumns} FROM users WHERE source IN (SELECT s.name FROM sources s) AND external_id = $3
     UNION
     (SELECT ${userColumns} FROM users
      WHERE username COLLATE "C" >= lower($3) AND username COLLATE "C" < lower($3) || '~' AND username COLLATE "C" > $1
      ORDER BY username COLLATE "C" LIMIT $2)
     UNION
     (SELECT ${userColumns} FROM users WHERE name_words(name) @@
        (SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery FROM unnest(name_words($3))) LIMIT $4)
   ) AS found WHERE username COLLATE "C" > $1 ORDER BY username COLLATE "C" LIMIT $2`,
)

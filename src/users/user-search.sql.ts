import { statement } from '../database/database.ts'
import { userColumns } from './users.sql.ts'

export const selectPage = statement(
  'select_page_of_users',
  `SELECT ${userColumns} FROM users WHERE username COLLATE "C" > $1 ORDER BY username COLLATE "C" LIMIT $2`,
)

/**
 * The beginning of the username, words of the name, the id, or the number of an account. No letter of a username comes after `~`. A word that many are
 * called by fills the page from the next thousand users in order; only for others is the index of words asked, which gathers all that it knows of a word
 * before it answers the first.
 */
export const selectNamed = statement(
  'select_users_named',
  `WITH words AS MATERIALIZED (
     SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery AS query FROM unnest(name_words($3))),
   near AS MATERIALIZED (
     SELECT n.* FROM (SELECT ${userColumns} FROM users WHERE username COLLATE "C" > $1 ORDER BY username COLLATE "C" LIMIT $4) AS n, words
     WHERE name_words(n.name) @@ words.query ORDER BY username COLLATE "C" LIMIT $2)
   SELECT found.* FROM (
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
     SELECT * FROM near
     UNION
     (SELECT ${userColumns} FROM users
      WHERE (SELECT count(*) FROM near) < $2 AND name_words(name) @@ (SELECT query FROM words) LIMIT $4)
   ) AS found WHERE username COLLATE "C" > $1 ORDER BY username COLLATE "C" LIMIT $2`,
)

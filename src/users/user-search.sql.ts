import { int, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'
import { userColumns, userRow } from './users.sql.ts'

/** Test holders are no customers: whoever names one finds them. */
const people = "role <> 'test'"

export const selectPage = statement({
  name: 'select_page_of_users',
  takes: { after: text, most: int },
  gives: userRow,
  text: `SELECT ${userColumns} FROM users WHERE username COLLATE "C" > :after AND ${people}
   ORDER BY username COLLATE "C" LIMIT :most`,
})

/** By who locked them; `typed` is the beginning of the username. */
export const selectLockedBy = statement({
  name: 'select_users_locked_by',
  takes: { lockedBy: text, after: text, most: int, typed: text },
  gives: userRow,
  text: `SELECT ${userColumns} FROM users
   WHERE locked_by IS NOT NULL AND locked_by = :lockedBy AND username COLLATE "C" > :after
     AND username COLLATE "C" >= lower(:typed) AND username COLLATE "C" < lower(:typed) || '~'
   ORDER BY username COLLATE "C" LIMIT :most`,
})

/**
 * The beginning of the username, words of the name, the e-mail address, the id, or the number of an account. No
 * letter of a username comes after `~`. E-mail addresses are compared as pairs, because only their index has
 * that order. A word that many are called by fills the page from the next thousand users in order; only for
 * others is the index of words asked, which gathers all that it knows of a word before it answers the first.
 */
export const selectNamed = statement({
  name: 'select_users_named',
  takes: { after: text, most: int, typed: text, namesakes: int },
  gives: userRow,
  text: `WITH words AS MATERIALIZED (
     SELECT string_agg(quote_literal(lexeme) || ':*', ' & ')::tsquery AS query
     FROM unnest(name_words(:typed))),
   near AS MATERIALIZED (
     SELECT n.* FROM (SELECT ${userColumns} FROM users WHERE username COLLATE "C" > :after AND ${people}
       ORDER BY username COLLATE "C" LIMIT :namesakes) AS n, words
     WHERE name_words(n.name) @@ words.query ORDER BY username COLLATE "C" LIMIT :most)
   SELECT found.* FROM (
     SELECT ${userColumns} FROM users WHERE id = lower(:typed)
     UNION
     (SELECT ${userColumns} FROM users
      WHERE email IS NOT NULL AND (lower(email), username COLLATE "C") > (lower(:typed), :after)
        AND (lower(email), username COLLATE "C") < (lower(:typed), '~')
      ORDER BY lower(email), username COLLATE "C" LIMIT :most)
     UNION
     SELECT ${userColumns} FROM users
     WHERE id IN (SELECT user_id FROM holdings WHERE account_number = upper(:typed) AND status <> 'removed')
     UNION
     SELECT ${userColumns} FROM users WHERE source IN (SELECT s.name FROM sources s) AND external_id = :typed
     UNION
     (SELECT ${userColumns} FROM users
      WHERE username COLLATE "C" >= lower(:typed) AND username COLLATE "C" < lower(:typed) || '~'
        AND username COLLATE "C" > :after AND (${people} OR username = lower(:typed))
      ORDER BY username COLLATE "C" LIMIT :most)
     UNION
     SELECT * FROM near
     UNION
     (SELECT ${userColumns} FROM users
      WHERE (SELECT count(*) FROM near) < :most AND name_words(name) @@ (SELECT query FROM words) AND ${people}
      LIMIT :namesakes)
   ) AS found WHERE username COLLATE "C" > :after ORDER BY username COLLATE "C" LIMIT :most`,
})

import { statement } from '../database/database.ts'

/** Of one user there are $5 others at most: the oldest leave. Nothing is kept for somebody who may not sign in. */
export const insertKeptForm = statement(
  'insert_kept_form',
  `WITH left_out AS (
     DELETE FROM kept_forms WHERE id = ANY (ARRAY(
       SELECT id FROM kept_forms WHERE user_id = $2 AND id <> $1 ORDER BY kept_at DESC, id OFFSET $5)))
   INSERT INTO kept_forms (id, user_id, sealed, kept_at)
   SELECT $1, id, $3, $4 FROM users WHERE id = $2 AND status = 'active'
   ON CONFLICT (id) DO UPDATE SET user_id = excluded.user_id, sealed = excluded.sealed, kept_at = excluded.kept_at`,
)

/** Whosever it is, it is gone afterwards. */
export const takeKeptForm = statement(
  'take_kept_form',
  `DELETE FROM kept_forms WHERE id = $1 RETURNING user_id AS "userId", sealed, kept_at AS "keptAt"`,
)

export const selectKeptForm = statement('select_kept_form', 'SELECT FROM kept_forms WHERE id = $1 AND kept_at > $2')

export const deleteOldKeptForms = statement(
  'delete_old_kept_forms',
  'DELETE FROM kept_forms WHERE id = ANY (ARRAY(SELECT id FROM kept_forms WHERE kept_at <= $1 LIMIT $2)) RETURNING id',
)

import { bytes, instant, int, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/**
 * Of one user there are so many others at most: the oldest leave. Nothing is kept for a user who may not sign
 * in.
 */
export const insertKeptForm = statement({
  name: 'insert_kept_form',
  takes: { id: text, userId: text, sealed: bytes, keptAt: instant, othersOfUser: int },
  text: `WITH left_out AS (
     DELETE FROM kept_forms WHERE id = ANY (ARRAY(
       SELECT id FROM kept_forms WHERE user_id = :userId AND id <> :id
       ORDER BY kept_at DESC, id OFFSET :othersOfUser)))
   INSERT INTO kept_forms (id, user_id, sealed, kept_at)
   SELECT :id, id, :sealed, :keptAt FROM users WHERE id = :userId AND status = 'active'
   ON CONFLICT (id) DO UPDATE SET user_id = excluded.user_id, sealed = excluded.sealed,
     kept_at = excluded.kept_at`,
})

/** Whosever it is, it is gone afterwards. */
export const takeKeptForm = statement({
  name: 'take_kept_form',
  takes: { id: text },
  gives: { userId: text, sealed: bytes, keptAt: instant },
  text: `DELETE FROM kept_forms WHERE id = :id RETURNING user_id AS "userId", sealed, kept_at AS "keptAt"`,
})

export const selectKeptForm = statement({
  name: 'select_kept_form',
  takes: { id: text, since: instant },
  text: 'SELECT FROM kept_forms WHERE id = :id AND kept_at > :since',
})

export const deleteOldKeptForms = statement({
  name: 'delete_old_kept_forms',
  takes: { until: instant, most: int },
  gives: { id: text },
  text: `DELETE FROM kept_forms WHERE id = ANY (ARRAY(
     SELECT id FROM kept_forms WHERE kept_at <= :until LIMIT :most)) RETURNING id`,
})

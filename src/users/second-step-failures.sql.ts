import { int, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const failuresThatEnd = 10

/**
 * For whatever ends the sessions of `:userId`: a half-finished sign-in begins again, as if it had failed so
 * often.
 */
export const endHalfWay = `half_way AS (
  INSERT INTO second_step_failures AS f (user_id, failures) SELECT id, ${failuresThatEnd} FROM users
    WHERE id = :userId
  ON CONFLICT (user_id) DO UPDATE SET failures = f.failures + ${failuresThatEnd})`

export const selectFailures = statement({
  name: 'select_second_step_failures',
  takes: { userId: text },
  gives: { failures: int },
  text: 'SELECT failures FROM second_step_failures WHERE user_id = :userId',
})

/** Holds the row until the step is settled: parallel guesses see what those before them came to. */
export const lockFailures = statement({
  name: 'lock_second_step_failures',
  takes: { userId: text },
  gives: { failures: int },
  text: `INSERT INTO second_step_failures AS f (user_id) VALUES (:userId)
   ON CONFLICT (user_id) DO UPDATE SET failures = f.failures RETURNING failures`,
})

export const countFailure = statement({
  name: 'count_second_step_failure',
  takes: { userId: text },
  gives: { failures: int },
  text: 'UPDATE second_step_failures SET failures = failures + 1 WHERE user_id = :userId RETURNING failures',
})

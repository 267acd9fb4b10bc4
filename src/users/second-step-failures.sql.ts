import { statement } from '../database/database.ts'

export const failuresThatEnd = 10

/** For whatever ends the sessions of $1: whoever is half-way in begins again, as if they had failed so often. */
export const endHalfWay = `half_way AS (
  INSERT INTO second_step_failures AS f (user_id, failures) SELECT id, ${failuresThatEnd} FROM users WHERE id = $1
  ON CONFLICT (user_id) DO UPDATE SET failures = f.failures + ${failuresThatEnd})`

export const selectFailures = statement(
  'select_second_step_failures',
  'SELECT failures FROM second_step_failures WHERE user_id = $1',
)

/** Holds the row until the step is settled: parallel guesses see what those before them came to. */
export const lockFailures = statement(
  'lock_second_step_failures',
  `INSERT INTO second_step_failures AS f (user_id) VALUES ($1)
   ON CONFLICT (user_id) DO UPDATE SET failures = f.failures RETURNING failures`,
)

export const countFailure = statement(
  'count_second_step_failure',
  'UPDATE second_step_failures SET failures = failures + 1 WHERE user_id = $1 RETURNING failures',
)

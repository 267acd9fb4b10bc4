import { advisoryLocks } from '../database/advisory-locks.ts'
import { statement } from '../database/database.ts'

/** For whoever must not meet a writer of the part. */
export const lockPart = statement('lock_part', `SELECT pg_advisory_xact_lock(${advisoryLocks.part}, $1)`)

export const tryLockPart = statement(
  'try_lock_part',
  `SELECT pg_try_advisory_xact_lock(${advisoryLocks.part}, $1) AS locked`,
)

/** The locks of this transaction are waited for so long. */
export const waitAtMost = statement('wait_at_most', "SELECT FROM set_config('lock_timeout', $1, true)")

/** In one order, so that nobody waits in a circle. */
export const lockParts = statement(
  'lock_parts',
  `SELECT pg_advisory_xact_lock(${advisoryLocks.part}, part) FROM (SELECT part FROM unnest($1::int[]) AS part ORDER BY part) p`,
)

import { bytes, instant, int, orNull, text, uuid } from '../database/column.ts'
import { statement } from '../database/statement.ts'

/**
 * Whether there is something to push that nobody holds, for the round that asks for everything. `address` is
 * 64 digits in hex.
 */
export function isPushDue(address: string): string {
  if (!/^[0-9a-f]{64}$/.test(address)) throw new Error('This is no hash.')
  const own = (column: string) => `(SELECT ${column} FROM audit_listeners WHERE address = '\\x${address}')`
  return `(coalesce((SELECT max(position) FROM audit_blocks), 0) > coalesce(${own('position')}, 0)
    AND coalesce(${own('free_at')} <= round.now, true))`
}

export const claimListener = statement({
  name: 'claim_audit_listener',
  takes: { address: bytes, holder: uuid, now: instant, until: instant },
  gives: { position: int, failures: int },
  text: `INSERT INTO audit_listeners AS l (address, holder, free_at) VALUES (:address, :holder, :until)
   ON CONFLICT (address) DO UPDATE SET holder = excluded.holder, free_at = excluded.free_at
     WHERE l.free_at <= :now
   RETURNING position, failures`,
})

/** None, where another has taken it over. */
export const advanceListener = statement({
  name: 'advance_audit_listener',
  takes: { address: bytes, holder: uuid, position: int, now: instant, until: instant },
  gives: { position: int },
  text: `UPDATE audit_listeners SET position = :position, heard_at = :now, free_at = :until,
     failures = 0, failing_since = NULL, failure = NULL
   WHERE address = :address AND holder = :holder AND position < :position RETURNING position`,
})

export const releaseListener = statement({
  name: 'release_audit_listener',
  takes: { address: bytes, holder: uuid, now: instant },
  text: `UPDATE audit_listeners SET holder = NULL, free_at = :now
   WHERE address = :address AND holder = :holder`,
})

export const failListener = statement({
  name: 'fail_audit_listener',
  takes: { address: bytes, holder: uuid, now: instant, due: instant, failure: text },
  text: `UPDATE audit_listeners SET holder = NULL, free_at = :due, failures = failures + 1,
     failing_since = coalesce(failing_since, :now), failure = :failure
   WHERE address = :address AND holder = :holder`,
})

/** The first block that was not heard tells since when. */
export const selectListener = statement({
  name: 'select_audit_listener',
  takes: { address: bytes },
  gives: {
    position: int,
    heardAt: orNull(instant),
    failures: int,
    failingSince: orNull(instant),
    failure: orNull(text),
    newest: int,
    unheardSince: orNull(instant),
  },
  text: `SELECT coalesce(l.position, 0) AS position, l.heard_at AS "heardAt", coalesce(l.failures, 0) AS failures,
     l.failing_since AS "failingSince", l.failure,
     coalesce((SELECT max(position) FROM audit_blocks), 0) AS newest,
     (SELECT sealed_at FROM audit_blocks b WHERE b.position = coalesce(l.position, 0) + 1) AS "unheardSince"
   FROM (SELECT :address::bytea AS address) asked LEFT JOIN audit_listeners l USING (address)`,
})

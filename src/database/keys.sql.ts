import { advisoryLocks } from './advisory-locks.ts'
import { bool, int, list } from './column.ts'
import { statement } from './statement.ts'

export const lockKeys = statement({
  name: 'lock_keys',
  text: `SELECT pg_advisory_xact_lock(${advisoryLocks.keys})`,
})

export const announceKeys = statement({ name: 'announce_keys', text: "SELECT announce('keys:rotated')" })

/** Of a process that holds keys; the locks are gone when it is. */
export const holdsKeys = { kind: advisoryLocks.heldKey, number: 0 } as const

/** On the connection by which a process hears changes. The numbers are signed. */
export const declareKeys = statement({
  name: 'declare_keys',
  takes: { numbers: list(int) },
  text: `SELECT pg_advisory_lock_shared(${advisoryLocks.heldKey}, number::int)
     FROM unnest(:numbers::bigint[]) AS number`,
})

const isHeld = `locktype = 'advisory' AND classid = ${advisoryLocks.heldKey} AND objsubid = 2 AND granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** The number is not signed. */
export const countWithoutKey = statement({
  name: 'count_processes_without_key',
  takes: { number: int },
  gives: { processes: int },
  text: `SELECT count(*) AS processes FROM pg_locks
   WHERE ${isHeld} AND objid::bigint = ${holdsKeys.number}
     AND pid NOT IN (SELECT pid FROM pg_locks WHERE ${isHeld} AND objid::bigint = :number)`,
})

/**
 * Everything that is sealed to stay; what travels for half an hour (forms that are kept, sign-ins under way)
 * is made anew.
 */
const sealedTables = [
  'admin_answers',
  ...['client_secrets', 'webhook_secrets', 'webhook_headers', 'totp_factors', 'audit_anchor_keys'],
  'identity_providers',
]

export const selectIsSealed = statement({
  name: 'select_is_sealed',
  gives: { isSealed: bool },
  // Alerts by mail have no secret, and are there from the beginning.
  text: `SELECT ${sealedTables.map((table) => `EXISTS (SELECT FROM ${table})`).join(' OR ')}
     OR (SELECT count(sealed) > 0 FROM alert_targets) AS "isSealed"`,
})

import { advisoryLocks } from './advisory-locks.ts'
import { bool } from './column.ts'
import { statement } from './statement.ts'

export const lockKeys = statement({
  name: 'lock_keys',
  text: `SELECT pg_advisory_xact_lock(${advisoryLocks.keys})`,
})

export const announceKeys = statement({ name: 'announce_keys', text: "SELECT announce('keys:rotated')" })

/**
 * Everything that is sealed to stay; what travels for half an hour (forms that are kept, sign-ins under way)
 * is made anew.
 */
const sealedTables = [
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

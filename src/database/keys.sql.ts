import { advisoryLocks } from './advisory-locks.ts'
import { statement } from './database.ts'

export const lockKeys = statement('lock_keys', `SELECT pg_advisory_xact_lock(${advisoryLocks.keys})`)

export const announceKeys = statement('announce_keys', "SELECT announce('keys:rotated')")

/** Everything that is sealed to stay; what travels for half an hour (forms that are kept, sign-ins under way) is made anew. */
const sealedTables = [
  ...['client_secrets', 'webhook_secrets', 'webhook_headers', 'totp_factors', 'audit_anchor_keys'],
  'identity_providers',
]

export const selectIsSealed = statement(
  'select_is_sealed',
  `SELECT ${sealedTables.map((table) => `EXISTS (SELECT FROM ${table})`).join(' OR ')} AS "isSealed"`,
)

import { advisoryLocks } from './advisory-locks.ts'
import { statement } from './database.ts'

export const lockKeys = statement('lock_keys', `SELECT pg_advisory_xact_lock(${advisoryLocks.keys})`)

export const announceKeys = statement('announce_keys', "SELECT announce('keys:rotated')")

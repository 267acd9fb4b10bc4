/** What signing in needs. */
import type { Vault } from '../crypto/vault.ts'
import type { Database } from '../database/database.ts'
import type { LoginLimits } from './login-throttle.ts'
import type { Passwords } from './password.ts'

export interface LoginDesk {
  readonly db: Database
  readonly passwords: Passwords
  readonly limits: LoginLimits
  readonly vault: Vault
}

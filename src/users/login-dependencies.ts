/** What signing in needs. */

import type { Act } from '../audit/audit.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { LoginLimits } from './login-throttle.ts'
import type { Passwords } from './password.ts'
import type { SessionUpstream } from './session.ts'
import type { User } from './user.ts'

export interface LoginDependencies {
  readonly db: Sql
  readonly passwords: Passwords
  readonly limits: LoginLimits
  readonly vault: Vault
  /** Whether a password is a way in for holders; for operators it always is. */
  readonly holdersUsePasswords: boolean
  /** Happens with every sign-in by a password, in its transaction. */
  opensByPassword?(sql: Sql, user: User, act: Act): Promise<void>
  /** Whether what a provider said of the user still holds; it stays so until the transaction ends. */
  isStillVouched(sql: Sql, user: User, upstream: SessionUpstream, since: Date): Promise<boolean>
}

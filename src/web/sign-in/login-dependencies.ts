/** Where passwords are checked, and what people are told when they cannot be checked now. */
import type { Context } from '../../context.ts'
import { isStillVouched } from '../../identity/identity.ts'
import { tellOfPassword } from '../../identity/staff-password.ts'
import { Problem, TooManyRequests } from '../../problem.ts'
import type { LoginDependencies } from '../../users/login-dependencies.ts'
import { TooManyPasswordChecks } from '../../users/password.ts'

export function loginDependencies({ db, passwords, config, vault, environment }: Context): LoginDependencies {
  const holdersUsePasswords = config.signIn.holderSignIn !== 'provider'
  return {
    ...{ db, passwords, limits: config.limits, vault, holdersUsePasswords },
    opensByPassword: (sql, user, act) => tellOfPassword(sql, user, environment, act),
    isStillVouched,
  }
}

export function tellCrowded(error: unknown): never {
  if (!(error instanceof TooManyPasswordChecks)) throw error
  throw new Problem(
    503,
    'temporarily_unavailable',
    'Many people are signing in at the moment. Try again shortly.',
    {
      headers: { 'retry-after': '5' },
    },
  )
}

export function addressMustWait({
  retryAfterSeconds,
}: {
  readonly retryAfterSeconds: number
}): TooManyRequests {
  return new TooManyRequests(
    'There were too many failed sign-ins from this network. Wait a little and try again.',
    retryAfterSeconds,
  )
}

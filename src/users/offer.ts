/** What a holder may let an application do, and in which accounts. */
import { covers, type Scope } from '../vocabulary/scope.ts'
import type { HeldAccount } from './account.ts'

export interface Offer {
  readonly scopes: readonly Scope[]
  readonly accounts: readonly HeldAccount[]
  /** Accounts in which this person may not allow all of that. */
  readonly withheld: readonly HeldAccount[]
}

/**
 * Of what is asked. A scope counts in every account that is shared, so it is what the account that lets them
 * give most lets them give, in the accounts that let them give as much. A holder without an account may allow
 * anything, in none.
 */
export function findOffer(held: readonly HeldAccount[], asked: readonly Scope[]): Offer {
  if (held.length === 0) return { scopes: asked, accounts: [], withheld: [] }
  const given = held.map(({ scopes }) => asked.filter((scope) => scopes.includes(scope)))
  const scopes = given.reduce((most, next) => (next.length > most.length ? next : most))
  const isOffered = (account: HeldAccount) => scopes.length > 0 && covers(account.scopes, scopes)
  return { scopes, accounts: held.filter(isOffered), withheld: held.filter((account) => !isOffered(account)) }
}

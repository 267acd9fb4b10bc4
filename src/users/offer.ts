/** What a holder may let an application do, and in which accounts. */
import { covers, type Scope, without } from '../vocabulary/scope.ts'
import type { HeldAccount } from './account.ts'

export interface OfferedAccount extends HeldAccount {
  /** Of what is offered, what this person may not allow in it: they choose between the two. */
  readonly lacks: readonly Scope[]
}

export interface Offer {
  readonly scopes: readonly Scope[]
  readonly accounts: readonly OfferedAccount[]
  /** Accounts in which this person may allow nothing of that, or not what the application requires. */
  readonly withheld: readonly HeldAccount[]
}

/**
 * Of what is asked, what the account that lets them give most lets them give: a scope that is given counts in
 * every account that is shared. A holder without an account may allow anything, in none. Where they cannot
 * give what is required, nothing is offered.
 */
export function findOffer(
  held: readonly HeldAccount[],
  asked: readonly Scope[],
  required: readonly Scope[],
): Offer {
  if (held.length === 0) return { scopes: asked, accounts: [], withheld: [] }
  const needed = asked.filter((scope) => required.includes(scope))
  const given = held
    .filter((account) => covers(account.scopes, needed))
    .map((account) => asked.filter((scope) => account.scopes.includes(scope)))
  const scopes = given.reduce((most, next) => (next.length > most.length ? next : most), [])
  const isOffered = (account: HeldAccount) =>
    covers(account.scopes, needed) && scopes.some((scope) => account.scopes.includes(scope))
  const accounts = held.filter(isOffered).map((each) => ({ ...each, lacks: without(scopes, each.scopes) }))
  return { scopes, accounts, withheld: held.filter((account) => !isOffered(account)) }
}

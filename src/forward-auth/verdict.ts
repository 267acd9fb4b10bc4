/** Whether a token is enough for what a route needs. */
import type { Bearer } from '../oauth/bearer.ts'
import { BearerError, tooWeakSignIn } from '../oauth/oauth-error.ts'
import { Problem } from '../problem.ts'
import { meets } from '../vocabulary/acr.ts'
import { covers } from '../vocabulary/scope.ts'
import type { Needs } from './needs.ts'

/** Throws what is missing, as a challenge. The code of the problem is the word for the log. */
export function requireEnough(bearer: Bearer, needs: Needs, nowMs: number): void {
  const { scopes, account } = needs
  if (!covers(bearer.scopes, scopes))
    throw lacks(bearer, `This token lacks one of the scopes ${scopes.join(' ')}.`).challenge({ scopes })
  // RFC 6750 has no other word for it.
  if (account !== undefined && !bearer.accountNumbers.includes(account)) {
    const error = lacks(bearer, 'This token does not reach the account.')
    throw new Problem(403, 'account_not_shared', error.message, {
      headers: error.challengeHeaders({ scopes }),
    })
  }
  if (isSignInEnough(bearer, needs, nowMs)) return
  const error = new BearerError(401, tooWeakSignIn, 'The user must sign in again, or in a stronger way.')
  throw error.challenge(needs)
}

function lacks(bearer: Bearer, description: string): BearerError {
  return new BearerError(403, 'insufficient_scope', description, bearer.scopes)
}

/** RFC 9470. Of a token of which nobody says when or how its user signed in, nothing is assumed. */
function isSignInEnough({ authenticatedAtMs, acr }: Bearer, needs: Needs, nowMs: number): boolean {
  const { maxAgeSeconds, acrs: asked } = needs
  const isRecent =
    maxAgeSeconds === undefined ||
    (authenticatedAtMs !== undefined && nowMs <= authenticatedAtMs + maxAgeSeconds * 1000)
  const isStrong = asked.length === 0 || asked.some((each) => meets(acr, each))
  return isRecent && isStrong
}

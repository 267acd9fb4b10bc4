/** What a route asks of whoever calls it, and what is wrong with those who have less. */
import type { Access } from './access.ts'
import { challenge, type Refusal } from './refusal.ts'

export interface Requirements {
  /** One, or several with spaces between: all of them. */
  readonly scope: string
  /** RFC 9470: the user signed in no longer ago when they approved. */
  readonly maxAgeSeconds?: number
  /** RFC 9470: how they had signed in: one of these, or a stronger one. */
  readonly acrValues?: readonly string[]
}

export interface Demand {
  /** Undefined where the access is enough; `account` is the one that the request is about, if it is about one. */
  findRefusal(access: Access, account: string | undefined, nowMs: number): Refusal | undefined
  /** No credential was shown, or none that counts. */
  refuse(error: 'invalid_token' | undefined, description: string): Refusal
}

/** RFC 6749, 3.3 and A.4; for what stands in quotes in a header. */
const words = /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/

/** As introspection tells them, the weakest first. */
const acrs = ['password', 'second-factor', 'passkey'].map((name) => `urn:countersign:acr:${name}`)

function isAsStrong(acr: string, asked: string): boolean {
  return acr === asked || (acrs.includes(asked) && acrs.indexOf(acr) >= acrs.indexOf(asked))
}

export function openDemand(
  { scope, maxAgeSeconds, acrValues }: Requirements,
  metadataUrl: string | undefined,
): Demand {
  if (!words.test(scope)) throw new TypeError('A route needs a scope: say which.')
  if (maxAgeSeconds !== undefined && !(Number.isSafeInteger(maxAgeSeconds) && maxAgeSeconds >= 0))
    throw new TypeError('maxAgeSeconds is a whole number of seconds.')
  if (acrValues && !(acrValues.length > 0 && words.test(acrValues.join(' '))))
    throw new TypeError('acrValues names at least one, without spaces.')
  const needed = scope.split(' ')
  const metadata = { resource_metadata: metadataUrl }
  const stepUp = {
    max_age: maxAgeSeconds === undefined ? undefined : String(maxAgeSeconds),
    acr_values: acrValues?.join(' '),
  }

  /** A client that asks for what is named gets a token that can do more, not something else. */
  const forbid = (description: string, held: readonly string[], name?: string) =>
    challenge({
      status: 403,
      error: 'insufficient_scope',
      description,
      parameters: { scope: [...new Set([...needed, ...held])].join(' '), ...metadata },
      ...(name && { name }),
    })
  const askToSignIn = () =>
    challenge({
      status: 401,
      error: 'insufficient_user_authentication',
      description: 'The user must sign in again, or in a stronger way.',
      parameters: { scope, ...stepUp, ...metadata },
    })

  return {
    refuse: (error, description) =>
      challenge({ status: 401, error, description, parameters: { scope, ...metadata } }),
    findRefusal(access, account, nowMs) {
      const lacking = needed.filter((each) => !access.scopes.includes(each))
      if (lacking.length > 0) return forbid(`This token lacks the scope ${lacking.join(' ')}.`, access.scopes)
      if (account !== undefined && !access.accounts?.includes(account))
        return forbid('This token does not reach the account.', access.scopes, 'account_not_shared')
      const { authenticatedAtMs = Number.NEGATIVE_INFINITY, acr = '' } = access
      if (maxAgeSeconds !== undefined && nowMs - authenticatedAtMs > maxAgeSeconds * 1000)
        return askToSignIn()
      if (acrValues && !acrValues.some((asked) => isAsStrong(acr, asked))) return askToSignIn()
      return undefined
    },
  }
}

/**
 * Where a visitor goes after signing in: to the authorization request they came with, to a page of their own,
 * or home.
 */
import type { Context } from '../../context.ts'
import type { Form } from '../../http/form.ts'
import { type AuthorizationRequest, unsealRequest } from '../../oauth/authorization-request.ts'
import { isInForce } from '../../oauth/client-directory.ts'
import type { Registration } from '../../partners/client.ts'
import { Problem } from '../../problem.ts'
import type { User } from '../../users/user.ts'
import { covers } from '../../vocabulary/scope.ts'
import { homeOf } from '../frame/home.ts'

export interface PendingRequest {
  readonly sealed: string
  readonly request: AuthorizationRequest
  readonly client: Registration
}

export interface Destination {
  readonly path: string
  readonly pending: PendingRequest | undefined
  /** What the login form carries along. */
  readonly field: { readonly name: 'request' | 'return'; readonly value: string }
}

/**
 * Pages of the account, and of the portal and the console with what was asked of them. No slash can follow a
 * slash.
 */
const ownPage = /^(\/account(\/[a-z]+)*|\/(partner|console)(\/[A-Za-z0-9-]+)*(\?[A-Za-z0-9=&%._:+*-]*)?)$/

/** For a user who came with no address in mind. */
const nowhere = '/'

export async function pathAfter(context: Context, { path }: Destination, user: User): Promise<string> {
  return path === nowhere ? homeOf(context, user) : path
}

/** The same from the address of a page. */
export function parseDestination(context: Context, { request, return: back }: Form): Promise<Destination> {
  return getDestination(context, textOf(request), textOf(back))
}

function textOf(value: Form[string] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

export async function getDestination(
  context: Context,
  sealed: string | undefined,
  returnPath: string | undefined,
): Promise<Destination> {
  if (sealed !== undefined && sealed !== '') {
    const pending = await openPending(context, sealed)
    return { path: `/consent?request=${sealed}`, pending, field: { name: 'request', value: sealed } }
  }
  const path = returnPath !== undefined && ownPage.test(returnPath) ? returnPath : nowhere
  return { path, pending: undefined, field: { name: 'return', value: path } }
}

/** The request behind a sealed value, as long as it can still be answered and its client has not changed. */
export async function openPending(context: Context, sealed: string): Promise<PendingRequest> {
  const request = unsealRequest(context.vault, context.environment, sealed, context.clock.now())
  const client = request && (await context.clients.find(request.clientId))
  if (
    !request ||
    !client ||
    !isInForce(client) ||
    client.callbackUrl !== request.callbackUrl ||
    !covers(client.scopes, request.scopes)
  ) {
    throw new Problem(
      400,
      'invalid_request',
      'This authorization request has expired or is not valid. Go back to the application and start again.',
    )
  }
  return { sealed, request, client }
}

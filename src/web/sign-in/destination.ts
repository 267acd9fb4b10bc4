/**
 * Where a visitor goes after signing in: to the authorization request they came with, to a page of their own,
 * or home.
 */
import type { Context } from '../../context.ts'
import type { Form } from '../../http/form.ts'
import type { Journey } from '../../identity/journey.ts'
import { type AuthorizationRequest, unsealRequest } from '../../oauth/authorization-request.ts'
import { isInForce } from '../../oauth/client-directory.ts'
import { profileOf, weightOf } from '../../oauth/profile.ts'
import type { Registration } from '../../partners/client.ts'
import { Problem } from '../../problem.ts'
import type { User } from '../../users/user.ts'
import { covers } from '../../vocabulary/scope.ts'
import { homeOf } from '../frame/home.ts'
import type { Html } from '../frame/html.ts'
import type { PageForms } from '../frame/page-forms.ts'
import { cancelSignIn } from './forms.ts'

export interface PendingRequest {
  readonly sealed: string
  readonly request: AuthorizationRequest
  readonly client: Registration
}

export interface Destination {
  readonly path: string
  readonly pending: PendingRequest | undefined
  /** What the forms of the sign-in carry along. */
  readonly onward: Journey['onward']
}

/**
 * Pages of the account, and views, the portal and the console with what was asked of them. No slash can follow a
 * slash.
 */
const ownPage =
  /^(\/account(\/[a-z]+)*|\/(account\/views|partner|console)(\/[A-Za-z0-9-]+)*(\?[A-Za-z0-9=&%._:+*-]*)?)$/

/** For a user who came with no address in mind. */
const nowhere = '/'

export async function pathAfter(context: Context, { path }: Destination, user: User): Promise<string> {
  return path === nowhere ? homeOf(context, user) : path
}

/** The same in an address. */
export function printOnward({ onward }: Destination): string {
  return new URLSearchParams({ ...onward }).toString()
}

/** The way back to the application. */
export function printCancel(ofGuest: PageForms, onward: Journey['onward'], { client }: PendingRequest): Html {
  const label = `Cancel and return to ${new URL(client.callbackUrl).host}`
  return ofGuest.button(cancelSignIn, label, { standing: onward, buttonLook: 'quiet wide' })
}

/** From the address of a page. */
export function parseDestination(context: Context, { request, return: back }: Form): Promise<Destination> {
  return getDestination(context, { request: textOf(request), return: textOf(back) })
}

function textOf(value: Form[string] = ''): string {
  return [value].flat()[0]!
}

export async function getDestination(
  context: Context,
  { request: sealed = '', return: back = '' }: Journey['onward'],
): Promise<Destination> {
  if (sealed !== '') {
    const pending = await openPending(context, sealed)
    return { path: `/consent?request=${sealed}`, pending, onward: { request: sealed } }
  }
  const path = ownPage.test(back) ? back : nowhere
  return { path, pending: undefined, onward: { return: path } }
}

/** The request behind a sealed value, as long as it can still be answered and its client has not changed. */
export async function openPending(context: Context, sealed: string): Promise<PendingRequest> {
  const now = context.clock.now()
  const request = unsealRequest(context, sealed, now)
  const client = request && (await context.clients.find(request.clientId))
  if (
    !request ||
    !client ||
    !isInForce(client) ||
    client.callbackUrl !== request.callbackUrl ||
    (!request.pushed && weightOf('pushed', profileOf(client, now)) === 'demanded') ||
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

/** Which ways in the login page offers: the brokerage's providers, a password, or both. */
import type { Context } from '../../context.ts'
import type { Form } from '../../http/form.ts'
import type { SignInDemands } from '../../identity/journey.ts'
import { listProviders, type Provider, vouches } from '../../identity/provider.ts'
import type { AuthorizationRequest } from '../../oauth/authorization-request.ts'
import type { Session } from '../../users/session.ts'
import { type Html, html } from '../frame/html.ts'
import { printDate } from '../frame/page.ts'
import { needsProof, oldestSignIn } from './consent.ts'
import type { Destination } from './destination.ts'

export interface SignInMethods {
  readonly providers: readonly Provider[]
  readonly password: boolean
  /** Staff have a provider of their own, and this page is not for them. */
  readonly staffElsewhere: boolean
  /** Partners' test holders have passwords where nobody else has: the page leads them to where they say them. */
  readonly testHoldersElsewhere: boolean
}

export const passwordAlone: SignInMethods = {
  providers: [],
  password: true,
  staffElsewhere: false,
  testHoldersElsewhere: false,
}

/**
 * A user who confirms that it is them does so where they signed in. The console is for staff, everything else
 * for holders.
 */
export async function findWays(
  context: Context,
  { path }: Destination,
  session: Session | undefined,
): Promise<SignInMethods> {
  const all = await listProviders(context.db)
  if (all.length === 0) return passwordAlone
  const own = session?.upstream && all.find(({ id }) => id === session.upstream!.providerId)
  if (own) return { providers: [own], password: false, staffElsewhere: false, testHoldersElsewhere: false }
  if (session) return passwordAlone
  const staff = all.filter(({ kind }) => kind === 'staff')
  if (/^\/console\b/.test(path))
    return {
      providers: staff,
      password: staff.length === 0,
      staffElsewhere: false,
      testHoldersElsewhere: false,
    }
  const { holderSignIn } = context.config.signIn
  const providers = holderSignIn === 'password' ? [] : all.filter(({ kind }) => kind === 'holder')
  const password = holderSignIn !== 'provider'
  return {
    ...{ providers, password, staffElsewhere: staff.length > 0 },
    testHoldersElsewhere: !password && context.environment === 'sandbox',
  }
}

/** For a user who has just tried a password: that form stays. */
export async function findWaysBeside(
  context: Context,
  destination: Destination,
  session: Session | undefined,
): Promise<SignInMethods> {
  return {
    ...(await findWays(context, destination, session)),
    ...{ password: true, testHoldersElsewhere: false },
  }
}

/** A choice of one is not shown. */
export function findOnlyWay({
  providers,
  password,
  testHoldersElsewhere,
}: SignInMethods): Provider | undefined {
  return providers.length === 1 && !password && !testHoldersElsewhere ? providers[0] : undefined
}

/**
 * What comes next may take a sign-in of a moment ago, by a second factor where the provider says so. It
 * leaves some minutes to act on it.
 */
const youngSeconds = 120

export function askOf(
  { confirm, other }: Form,
  { pending }: Destination,
  provider: Provider,
  now: Date,
): SignInDemands {
  const otherAccount = other === undefined ? {} : ({ otherAccount: true } as const)
  const takesProof = pending !== undefined && needsProof(pending.request)
  const takesFactor = pending !== undefined && asksForFactor(pending.request)
  const oldest = pending && oldestSignIn(pending.request)
  const ages = [
    ...(confirm !== undefined || takesProof ? [youngSeconds] : []),
    ...(oldest ? [Math.floor((now.getTime() - oldest.getTime()) / 1000)] : []),
  ]
  if (ages.length === 0 && !takesFactor) return otherAccount
  const isRequired = vouches(provider) && (takesProof || takesFactor || confirm === 'factor')
  return {
    ...(ages.length > 0 && { maxAgeSeconds: Math.min(...ages) }),
    factor: isRequired ? 'required' : 'hoped',
    ...otherAccount,
  }
}

function asksForFactor({ acrs }: AuthorizationRequest): boolean {
  return acrs.length > 0 && !acrs.includes('password')
}

export function printProviders(
  { providers, password }: SignInMethods,
  destination: Destination,
  { confirm }: Form,
): Html | false {
  if (providers.length === 0)
    return (
      !password &&
      html`<p class="notice error" role="alert">Nobody can sign in here at the moment:
        there is no identity provider. The brokerage has to set one up.</p>`
    )
  const words = new URLSearchParams({
    ...destination.onward,
    ...(typeof confirm === 'string' && { confirm }),
  })
  const links = providers.map(
    ({ name, label, awaySince }) =>
      html`<p><a class="button primary wide" href="/login/with/${name}?${words.toString()}">Continue with
        ${label}</a>${
          awaySince !== null &&
          html`<br><span class="small">Unavailable since
        ${printDate(awaySince)}.</span>`
        }</p>`,
  )
  return html`${links}${password && html`<p class="small">Or with a password:</p>`}`
}

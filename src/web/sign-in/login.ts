/**
 * The login page. The visitor arrives with an authorization request, or on the way to a page of the account.
 */
import type { Context } from '../../context.ts'
import { listProviders } from '../../identity/provider.ts'
import { deny } from '../../oauth/authorization.ts'
import { type AuthorizationRequest, printErrorCallback } from '../../oauth/authorization-request.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { NotFound, Problem } from '../../problem.ts'
import { signIn } from '../../users/login.ts'
import { askForAny } from '../../users/passkey.ts'
import { signInByPasskey } from '../../users/passkey-sign-in.ts'
import type { Session } from '../../users/session.ts'
import { clearCookie } from '../frame/cookies.ts'
import type { Submission } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { isKept } from '../frame/kept-form.ts'
import { notice, sendPage } from '../frame/page.ts'
import type { PageForms } from '../frame/page-forms.ts'
import type { Visit } from '../frame/visit.ts'
import { actOf, browserOf, currentSession, formsOfGuest, returning } from '../frame/visitor.ts'
import { answeredAlready, findObstacle } from './consent.ts'
import {
  type Destination,
  getDestination,
  openPending,
  parseDestination,
  pathAfter,
  printCancel,
  printOnward,
} from './destination.ts'
import { readDevice } from './device-cookie.ts'
import * as forms from './forms.ts'
import { letIn, originOf } from './let-in.ts'
import { addressMustWait, loginDependencies, tellCrowded } from './login-dependencies.ts'
import { firstPasskeySite, passkeyOf, passkeyScript, printPasskeyChoice } from './passkey-form.ts'
import { leadToProvider } from './provider.ts'
import { goOnToSecondStep } from './second-step.ts'
import {
  askOf,
  findOnlyWay,
  findWays,
  findWaysBeside,
  passwordAlone,
  printProviders,
  type SignInMethods,
} from './ways.ts'

const refusedText =
  'That username and password do not match, or there were too many attempts. Check them, or wait a little and try again.'

/** Told by the page that the second step leads back to. */
const endedText = 'Ten codes in a row were wrong. Sign in again.'
const hasEnded = ({ query }: Visit) => query.ended === 'codes'

const keptText =
  'Nothing was sent yet. What you entered is kept for half an hour and comes back after you sign in.'

export async function showLogin(visit: Visit) {
  const { context, request, reply, query } = visit
  const destination = await parseDestination(context, query)
  const session = await currentSession(context, request)
  if (session && query.confirm === undefined && !(await mustConfirm(context, destination, session)))
    return reply.redirect(await pathAfter(context, destination, session.user), 303)
  const ways = await findWays(context, destination, session)
  const only = findOnlyWay(ways)
  if (only)
    return leadToProvider(visit, only, destination, askOf(query, destination, only, context.clock.now()))
  return sendLogin(visit, { destination, session, ways })
}

/** Also where a password is no way for holders: operators keep theirs, for when their provider is away. */
export async function showPasswordLogin(visit: Visit) {
  const { context, request, query } = visit
  const destination = await parseDestination(context, query)
  const session = await currentSession(context, request)
  return sendLogin(visit, { destination, session, ways: passwordAlone })
}

export async function submitLogin(visit: Visit, { values }: Submission<typeof forms.signIn>) {
  const { context, request, reply } = visit
  const destination = await getDestination(context, values)
  const previous = await currentSession(context, request)
  const { username, password } = values
  const credentials = { username, password, device: readDevice(context, request) }
  const from = { environment: context.environment, browser: browserOf(request), previous }
  const outcome = await signIn(loginDependencies(context), credentials, from, actOf(context, request)).catch(
    tellCrowded,
  )
  switch (outcome.kind) {
    case 'address-must-wait':
      throw addressMustWait(outcome)
    case 'refused':
      request.refusal = { code: 'access_denied' }
      return sendLogin(returning(visit, new Problem(401, 'access_denied', refusedText)), {
        ...{ destination, session: previous },
        ways: await findWaysBeside(context, destination, previous),
      })
    case 'half-way':
      return goOnToSecondStep(context, reply, outcome.step, destination)
    case 'signed-in':
      return letIn(visit, outcome, destination)
  }
}

const refusedPasskeyText =
  'That passkey was not accepted. Sign in with your username and password; then it may serve as the second step.'

export async function submitPasskey(visit: Visit, { values }: Submission<typeof forms.signInByPasskey>) {
  const { context, request } = visit
  const site = firstPasskeySite(context)
  if (!site) throw new NotFound('Nobody signs in with a passkey here.')
  const destination = await getDestination(context, values)
  const from = await originOf(context, request)
  const staffUsePasskeys = (await listProviders(context.db)).every(({ kind }) => kind !== 'staff')
  const deps = { ...loginDependencies(context), staffUsePasskeys }
  const answer = { response: values.credential, sealed: values.offer }
  const outcome = await signInByPasskey(deps, site, answer, from, actOf(context, request))
  switch (outcome.kind) {
    case 'address-must-wait':
      throw addressMustWait(outcome)
    case 'refused':
      request.refusal = { code: 'access_denied' }
      return sendLogin(returning(visit, new Problem(401, 'access_denied', refusedPasskeyText)), {
        ...{ destination, session: from.previous },
        ways: await findWaysBeside(context, destination, from.previous),
      })
    case 'signed-in':
      return letIn(visit, outcome, destination)
  }
}

/** Leaving the login page is an answer too: the application hears that access was denied. */
export async function cancelLogin(visit: Visit, { values }: Submission<typeof forms.cancelSignIn>) {
  const { context, request, reply } = visit
  const { request: pending, client } = await openPending(context, values.request)
  if (!(await deny(context.db, pending, actOf(context, request)))) throw answeredAlready()
  const error = new OAuthError('access_denied', 'The user did not sign in.')
  request.refusal = error
  clearCookie(context, reply, 'step')
  return reply.redirect(printErrorCallback(client.callbackUrl, error, pending.state, context.baseUrl), 303)
}

interface LoginPage {
  readonly destination: Destination
  readonly session: Session | undefined
  readonly ways: SignInMethods
}

async function sendLogin(visit: Visit, { destination, session, ways }: LoginPage) {
  const { context, request, reply } = visit
  const { pending, onward } = destination
  const ofGuest = formsOfGuest(visit)
  const title = session ? 'Confirm it is you' : 'Sign in'
  const passkey = ways.password && printPasskey(context, ofGuest, destination)
  return sendPage(reply, {
    title,
    environment: context.environment,
    forms: ofGuest,
    leadsOn: pending !== undefined,
    scripts: passkey ? [passkeyScript] : [],
    body: html`<section class="card narrow">
<h1>${title}</h1>
${
  pending &&
  html`<p><strong>${pending.client.name}</strong> by ${pending.client.partnerName} asks for access
  to your account. Sign in to see what it asks for.</p>`
}
${
  session &&
  html`<p>What comes next can move money or hand out lasting access,
  so please ${ways.providers.length > 0 ? 'sign in' : 'enter your password'} once more.</p>`
}
${pending && asksForPasskey(pending.request) && html`<p>It asks that you sign in with a <strong>passkey</strong>.</p>`}
${hasEnded(visit) && !ofGuest.isReturned && notice('error', endedText)}
${
  (await isKept({ context, request }, destination.path)) &&
  html`<p class="notice waiting"
  role="status">${keptText}</p>`
}
${printProviders(ways, destination, visit.query)}
${ways.password && printPasswordForm(ofGuest, destination, session, ways.providers.length > 0)}
${passkey}
${pending && printCancel(ofGuest, onward, pending)}
${
  ways.password &&
  html`<p class="small">Enter your password only on this site:
  <strong>${new URL(context.baseUrl).host}</strong></p>`
}
${
  ways.password &&
  !session &&
  html`<p class="small"><a href="/login/forgotten">Forgot your
  password?</a></p>`
}
${
  context.environment === 'sandbox' &&
  !session &&
  html`<p class="small">Signed in on the live site?
  <a href="/login/live?${printOnward(destination)}">Go on as there</a></p>`
}
${
  ways.testHoldersElsewhere &&
  html`<p class="small">A test holder of a partner?
  <a href="/login/password?${printOnward(destination)}">Sign in with a password</a></p>`
}
${ways.staffElsewhere && html`<p class="small"><a href="/login?return=%2Fconsole">Staff sign-in</a></p>`}
</section>`,
  })
}

/** A weaker way would lead back to this page. */
function asksForPasskey({ acrs }: AuthorizationRequest): boolean {
  return acrs.length > 0 && acrs.every((acr) => acr === 'passkey')
}

/** Undefined where people have none. */
function printPasskey(context: Context, ofGuest: PageForms, { onward }: Destination): Html | undefined {
  const site = firstPasskeySite(context)
  if (!site) return undefined
  const asked = askForAny(context.vault, site, context.clock.now())
  const standing = { ...onward, offer: asked.sealed, credential: '' }
  return ofGuest.print(forms.signInByPasskey, { ...passkeyOf('get', asked), standing }, () =>
    printPasskeyChoice('Use my passkey instead'),
  )
}

function printPasswordForm(
  ofGuest: PageForms,
  { onward }: Destination,
  session: Session | undefined,
  isSecond: boolean,
): Html {
  const username = session?.user.username ?? ''
  const focusOn = isSecond ? undefined : username === '' ? 'username' : 'password'
  return ofGuest.print(
    forms.signIn,
    { standing: { ...onward, username } },
    (view) => html`${view.field('username', { hasFocus: focusOn === 'username' })}
${view.field('password', { hasFocus: focusOn === 'password' })}
${view.button(session ? 'Continue' : 'Sign in', isSecond ? {} : { look: 'primary' })}`,
  )
}

async function mustConfirm(context: Context, { pending }: Destination, session: Session): Promise<boolean> {
  return pending !== undefined && (await findObstacle(context, pending, session)) === 'sign-in'
}

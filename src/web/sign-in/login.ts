/**
 * The login page. The visitor arrives with an authorization request, or on the way to a page of the account.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { Form } from '../../http/form.ts'
import { deny } from '../../oauth/authorization.ts'
import { printErrorCallback } from '../../oauth/authorization-request.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { signIn } from '../../users/login.ts'
import type { Session } from '../../users/session.ts'
import { clearCookie, ensureVisit, readCookie } from '../frame/cookies.ts'
import { fieldLengths } from '../frame/field-lengths.ts'
import { issueFormToken, readForm } from '../frame/forms.ts'
import { type Html, html } from '../frame/html.ts'
import { isKept } from '../frame/kept-form.ts'
import { csrfField, notice, sendPage } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import { actOf, browserOf, currentSession } from '../frame/visitor.ts'
import { answeredAlready, findObstacle } from './consent.ts'
import { type Destination, getDestination, openPending, parseDestination, pathAfter } from './destination.ts'
import { readDevice } from './device-cookie.ts'
import { letIn } from './let-in.ts'
import { addressMustWait, loginDependencies, tellCrowded } from './login-dependencies.ts'
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
const hasEnded = ({ query }: FastifyRequest) => (query as Form).ended === 'codes'

const keptText =
  'Nothing was sent yet. What you entered is kept for half an hour and comes back after you sign in.'

export async function showLogin(visit: Visit) {
  const { context, request, reply } = visit
  const query = request.query as Form
  const destination = await parseDestination(context, query)
  const session = await currentSession(context, request)
  if (session && query.confirm === undefined && !(await mustConfirm(context, destination, session)))
    return reply.redirect(await pathAfter(context, destination, session.user), 303)
  const ways = await findWays(context, destination, session)
  const only = findOnlyWay(ways)
  if (only) return leadToProvider(visit, only, destination, askOf(query, destination, only))
  return sendLogin(context, request, reply, { destination, session, ways })
}

/** Also where a password is no way for holders: operators keep theirs, for when their provider is away. */
export async function showPasswordLogin({ context, request, reply }: Visit) {
  const destination = await parseDestination(context, request.query as Form)
  const session = await currentSession(context, request)
  return sendLogin(context, request, reply, { destination, session, ways: passwordAlone })
}

export async function submitLogin({ context, request, reply }: Visit) {
  const form = readForm(request, readCookie(context, request, 'visit'))
  const destination = await getDestination(context, form.find('request'), form.find('return'))
  const previous = await currentSession(context, request)
  const username = form.find('username') ?? ''
  const credentials = {
    username,
    password: form.find('password') ?? '',
    device: readDevice(context, request),
  }
  const from = { environment: context.environment, browser: browserOf(request), previous }
  const outcome = await signIn(loginDependencies(context), credentials, from, actOf(context, request)).catch(
    tellCrowded,
  )
  switch (outcome.kind) {
    case 'address-must-wait':
      throw addressMustWait(outcome)
    case 'refused':
      request.refusal = 'access_denied'
      return sendLogin(context, request, reply, {
        ...{ destination, session: previous, problem: refusedText, username },
        ways: await findWaysBeside(context, destination, previous),
      })
    case 'half-way':
      return goOnToSecondStep(context, reply, outcome.step, destination)
    case 'signed-in':
      return letIn({ context, request, reply }, outcome, destination)
  }
}

/** Leaving the login page is an answer too: the application hears that access was denied. */
export async function cancelLogin({ context, request, reply }: Visit) {
  const form = readForm(request, readCookie(context, request, 'visit'))
  const { request: pending, client } = await openPending(context, form.find('request') ?? '')
  if (!(await deny(context.db, pending, actOf(context, request)))) throw answeredAlready()
  const error = new OAuthError('access_denied', 'The user did not sign in.')
  request.refusal = error.code
  clearCookie(context, reply, 'step')
  return reply.redirect(printErrorCallback(client.callbackUrl, error, pending.state, context.baseUrl), 303)
}

interface LoginPage {
  readonly destination: Destination
  readonly session: Session | undefined
  readonly ways: SignInMethods
  readonly problem?: string
  readonly username?: string
}

async function sendLogin(context: Context, request: FastifyRequest, reply: FastifyReply, page: LoginPage) {
  const { destination, session, ways, problem, username = session?.user.username ?? '' } = page
  const { pending, field } = destination
  const csrf = csrfField(issueFormToken(ensureVisit(context, request, reply)))
  const carried = html`<input type="hidden" name="${field.name}" value="${field.value}">`
  const title = session ? 'Confirm it is you' : 'Sign in'
  return sendPage(reply, {
    title,
    environment: context.environment,
    status: problem ? 401 : 200,
    leadsOn: pending !== undefined,
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
${problem !== undefined && notice('error', problem)}
${request.method === 'GET' && hasEnded(request) && notice('error', endedText)}
${
  (await isKept({ context, request }, destination.path)) &&
  html`<p class="notice waiting"
  role="status">${keptText}</p>`
}
${printProviders(ways, destination, request)}
${ways.password && printPasswordForm(csrf, carried, username, session !== undefined, ways.providers.length > 0)}
${
  pending &&
  html`<form method="post" action="/login/cancel">${csrf}${carried}<button
  class="quiet wide">Cancel and return to ${new URL(pending.client.callbackUrl).host}</button></form>`
}
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
${ways.staffElsewhere && html`<p class="small"><a href="/login?return=%2Fconsole">Staff sign-in</a></p>`}
</section>`,
  })
}

function printPasswordForm(
  csrf: Html,
  carried: Html,
  username: string,
  confirms: boolean,
  isSecond: boolean,
): Html {
  const focusOn = isSecond ? undefined : username === '' ? 'username' : 'password'
  return html`<form method="post" action="/login">
${csrf}${carried}
<label>Username<input name="username" value="${username}" autocomplete="username" autocapitalize="none"
  spellcheck="false" required maxlength="${fieldLengths['/login'].username}"${
    focusOn === 'username' &&
    html`
  autofocus`
  }></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required
  maxlength="${fieldLengths['/login'].password}"${focusOn === 'password' && html` autofocus`}></label>
<button${!isSecond && html` class="primary"`}>${confirms ? 'Continue' : 'Sign in'}</button>
</form>`
}

async function mustConfirm(context: Context, { pending }: Destination, session: Session): Promise<boolean> {
  return pending !== undefined && (await findObstacle(context, pending, session)) === 'sign-in'
}

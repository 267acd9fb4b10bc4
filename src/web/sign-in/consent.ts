/** The consent page: who asks, for what, for how long, and a choice that can be made once. */
import { after, second } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { approve, deny, findStanding, type StandingApproval } from '../../oauth/authorization.ts'
import {
  type AuthorizationRequest,
  printCallback,
  printErrorCallback,
} from '../../oauth/authorization-request.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { findShownLook } from '../../partners/client-look.ts'
import { mayTry } from '../../partners/tryout.ts'
import { Conflict, Forbidden, Invalid, Problem } from '../../problem.ts'
import { type HeldAccount, isOwn, listOpenAccounts } from '../../users/account.ts'
import { findOffer, type Offer, type OfferedAccount } from '../../users/offer.ts'
import { findSignInLack, hasProvenFactor, type SignInLack } from '../../users/second-factor.ts'
import { closeSession, isFresh, isStrong, type Session } from '../../users/session.ts'
import { isSignedInSince, signInFactsOf } from '../../users/sign-in-facts.ts'
import { covers, type Scope, union, without } from '../../vocabulary/scope.ts'
import { scopeWords } from '../../vocabulary/scope-words.ts'
import { clearCookie } from '../frame/cookies.ts'
import type { Submission } from '../frame/form.ts'
import { checkFormToken, issueFormToken, markOwner } from '../frame/form-token.ts'
import type { FormView } from '../frame/form-view.ts'
import { type Html, html } from '../frame/html.ts'
import { findKeptForm, keepForm } from '../frame/kept-form.ts'
import { onLiveSite } from '../frame/other-site.ts'
import { printDate, sendPage } from '../frame/page.ts'
import { PageForms, type ReturnedForm } from '../frame/page-forms.ts'
import type { Visit } from '../frame/visit.ts'
import { actOf, currentSession, returning } from '../frame/visitor.ts'
import { printLookLogo, printLookWords } from '../parts/client-look.ts'
import { printScope } from '../parts/scope.ts'
import { openPending, type PendingRequest } from './destination.ts'
import * as forms from './forms.ts'
import { passkeySite } from './passkey-form.ts'

/** Scopes that change things ask for every proof that there is, given minutes ago. */
export function needsProof(request: AuthorizationRequest): boolean {
  return request.scopes.includes('trade') || request.scopes.includes('write')
}

/** The user may have signed in then or later: so long before the application asked (RFC 9470). */
export function oldestSignIn({ receivedAt, maxAgeSeconds }: AuthorizationRequest): Date | undefined {
  return maxAgeSeconds === undefined ? undefined : after(new Date(receivedAt), -maxAgeSeconds * second)
}

type Obstacle = 'sign-in' | Exclude<SignInLack, 'proof'> | 'not-a-member'

/**
 * What stands between this visitor and the answer: a sign-in that is too old, or weaker than what they have
 * or what the application asks for; or a way in that has to be set up first. Or the application is not open to
 * them yet.
 */
export async function findObstacle(
  context: Context,
  { request, client }: PendingRequest,
  session: Session,
): Promise<Obstacle | undefined> {
  const { config, clock, db } = context
  if (!(await mayTry(db, client, session.user))) return 'not-a-member'
  const oldest = oldestSignIn(request)
  if (oldest && !isSignedInSince(session, oldest)) return 'sign-in'
  const lack = await findSignInLack(db, session, request.acrs)
  if (lack === 'passkey' && !passkeySite(context)) return 'hopeless'
  if (lack) return lack === 'proof' ? 'sign-in' : lack
  if (!needsProof(request)) return undefined
  const now = clock.now()
  if (!isFresh(session, now) || !(await hasProvenFactor(db, session, now))) return 'sign-in'
  const needsFactor = config.secondFactorForTrade && request.scopes.includes('trade')
  return needsFactor && !isStrong(session, now) ? 'factor' : undefined
}

/** Signing in once more would not remove it. */
function sendObstacle(
  visit: Visit,
  pending: PendingRequest,
  session: Session,
  obstacle: Exclude<Obstacle, 'sign-in'>,
) {
  switch (obstacle) {
    case 'not-a-member':
      throw notOpenTo(session, pending)
    case 'hopeless':
      return sendUnmet(visit, pending)
    default:
      return sendSetupFirst(visit, pending, obstacle)
  }
}

export async function showConsent(visit: Visit) {
  const { context, request, reply } = visit
  const sealed = visit.query.request
  const pending = await openPending(context, typeof sealed === 'string' ? sealed : '')
  const session = await currentSession(context, request)
  const obstacle = session ? await findObstacle(context, pending, session) : 'sign-in'
  if (!session || obstacle === 'sign-in') return reply.redirect(`/login?request=${pending.sealed}`, 303)
  if (obstacle) return sendObstacle(visit, pending, session, obstacle)
  return sendConsent(visit, pending, session, await findKeptForm(visit, session.user.id))
}

/** What the holder ticked waits until they have signed in. */
async function leadToLogin(visit: Visit, { sealed }: PendingRequest) {
  await keepForm(visit, `/consent?request=${sealed}`)
  return visit.reply.redirect(`/login?request=${sealed}`, 303)
}

export async function submitConsent(visit: Visit, { values }: Submission<typeof forms.answerConsent>) {
  const { context, request, reply } = visit
  const session = await currentSession(context, request)
  const pending = await openPending(context, values.request)
  if (!session) return leadToLogin(visit, pending)
  checkFormToken(request, formSecret(session.token.text, pending))
  const obstacle = await findObstacle(context, pending, session)
  if (obstacle === 'sign-in') return leadToLogin(visit, pending)
  if (obstacle) return sendObstacle(visit, pending, session, obstacle)
  const act = actOf(context, request, session)
  const { state } = pending.request
  const callbackUrl = pending.client.callbackUrl
  switch (values.decision) {
    case 'approve': {
      const asked = pending.request.scopes.filter((scope) => values.shown.split(' ').includes(scope))
      const offer = await offerTo(context, session, pending, asked)
      if (offer.scopes.length === 0) return sendConsent(visit, pending, session)
      const choice = {
        scopes: asked.filter((scope) => values.scope.includes(scope)),
        accountNumbers: values.account,
      }
      const text = findChoiceProblem(offer, choice, pending.client.scopesRequired)
      if (text !== undefined) {
        const again = returning(visit, new Problem(400, 'invalid_request', text))
        return sendConsent(again, pending, session, again.returned)
      }
      const consent = {
        request: { ...pending.request, scopes: choice.scopes },
        client: pending.client,
        userId: session.user.id,
        environment: context.environment,
        accountNumbers: choice.accountNumbers,
        signIn: signInFactsOf(session, pending.request.acrs),
      }
      const code = await approve(context.db, consent, act)
      if (!code) throw answeredAlready()
      return reply.redirect(printCallback(callbackUrl, { code: code.text, iss: context.baseUrl }, state), 303)
    }
    case 'deny': {
      if (!(await deny(context.db, pending.request, act))) throw answeredAlready()
      const error = new OAuthError('access_denied', 'The user denied the request.')
      request.refusal = error
      return reply.redirect(printErrorCallback(callbackUrl, error, state, context.baseUrl), 303)
    }
    default:
      throw new Invalid([{ field: 'decision', problem: 'must be approve or deny' }])
  }
}

/** “Not you?”: this session ends, and the request waits for whoever signs in. */
export async function signInAsOther(visit: Visit, { values }: Submission<typeof forms.signInAsOther>) {
  const { context, request, reply } = visit
  const pending = await openPending(context, values.request)
  const session = await currentSession(context, request)
  if (session) {
    checkFormToken(request, formSecret(session.token.text, pending))
    await context.db.transaction((sql) => closeSession(sql, session, actOf(context, request, session)))
  }
  clearCookie(context, reply, 'session')
  return reply.redirect(`/login?request=${pending.sealed}&other=1`, 303)
}

/**
 * What they may allow of what is asked; of an answer, of what the page has shown: what came to be possible
 * since then was not agreed to.
 */
async function offerTo(
  { db, environment }: Context,
  { user }: Session,
  { request, client }: PendingRequest,
  asked = request.scopes,
): Promise<Offer> {
  return findOffer(await listOpenAccounts(db, user.id, environment), asked, client.scopesRequired)
}

/** The form token is bound to this session and to this request: one page's token answers no other request. */
function formSecret(session: string, { request }: PendingRequest): string {
  return `${session} ${request.id}`
}

interface Choice {
  readonly scopes: readonly Scope[]
  readonly accountNumbers: readonly string[]
}

/** Nothing is allowed but what they have seen and chosen, all of it. */
function findChoiceProblem(
  { scopes, accounts }: Offer,
  choice: Choice,
  required: readonly Scope[],
): string | undefined {
  if (choice.scopes.length === 0) return 'Choose at least one thing that it may do, or deny the request.'
  const missing = scopes.filter((scope) => required.includes(scope) && !choice.scopes.includes(scope))
  if (missing.length > 0)
    return `It does not work without: ${titlesOf(missing)}. Allow that too, or deny the request.`
  const chosen = accounts.filter(({ accountNumber }) => choice.accountNumbers.includes(accountNumber))
  if (chosen.length === 0 && accounts.length > (choice.accountNumbers.length === 0 ? 0 : 1))
    return 'Choose at least one account, or deny the request.'
  const isAll = chosen.length === new Set(choice.accountNumbers).size && covers(scopes, choice.scopes)
  if (!isAll || (chosen.length === 0 && accounts.length > 0))
    return 'Your accounts have changed since this page was opened. Check what is listed now, then answer.'
  const tooMuch = chosen.find(({ lacks }) => lacks.some((scope) => choice.scopes.includes(scope)))
  return (
    tooMuch &&
    `In ${tooMuch.accountNumber} you cannot allow: ${titlesOf(tooMuch.lacks)}. Leave out that or the account.`
  )
}

/** What is ticked before the holder chooses: what stands, and more than that is theirs to tick. */
function standingChoice(
  { scopes, accounts }: Offer,
  standing: StandingApproval | undefined,
  required: readonly Scope[],
): Choice {
  const ofFirst = accounts.filter((account) => isOwn(account) && account.lacks.length === 0)
  const isTicked = ({ accountNumber }: HeldAccount) => standing!.accountNumbers.includes(accountNumber)
  return {
    scopes: standing ? scopes.filter((each) => union(standing.scopes, required).includes(each)) : scopes,
    accountNumbers: (standing ? accounts.filter(isTicked) : ofFirst).map((each) => each.accountNumber),
  }
}

function titlesOf(scopes: readonly Scope[]): string {
  return scopes.map((scope) => scopeWords[scope].title).join(', ')
}

/**
 * The brokerage has not vouched for the partner: names and accounts of others than its members are not shown
 * to it. Or it is another partner's test holder.
 */
function notOpenTo({ user }: Session, { client }: PendingRequest): Forbidden {
  if (user.testOf !== null)
    return new Forbidden(
      `You are signed in as a test holder of another partner: sign out, then sign in as one of ${client.partnerName}.`,
    )
  return new Forbidden(
    `${client.name} is being tried out: until the brokerage approves ${client.partnerName}, only its own members can allow it.`,
  )
}

export function answeredAlready(): Conflict {
  return new Conflict(
    'You have already answered this request. Return to the application; if it is still waiting, start again there.',
  )
}

async function sendConsent(
  { context, reply }: Visit,
  pending: PendingRequest,
  session: Session,
  returned?: ReturnedForm,
) {
  const { token, user } = session
  const { sealed, request, client } = pending
  const csrf = issueFormToken(formSecret(token.text, pending), markOwner(context, user.id))
  const offer = await offerTo(context, session, pending)
  const { scopes, accounts } = offer
  const standing = await findStanding(context.db, user.id, client.id)
  const choice = standingChoice(offer, standing, client.scopesRequired)
  const look = await findShownLook(context.db, client.id)
  const host = new URL(client.callbackUrl).host
  const ofHolder = new PageForms(csrf, {}, returned)
  const ticked = { shown: scopes.join(' '), scope: choice.scopes, account: choice.accountNumbers }
  const form = ofHolder.print(
    forms.answerConsent,
    { standing: { request: sealed, ...ticked } },
    (view) => html`${scopes.length === 0 && printNothing(pending)}
${
  scopes.length > 0 &&
  html`${printScopes(view, offer, choice, { standing, required: client.scopesRequired })}
${accounts.length > 0 && printAccounts(view, accounts, choice, standing)}
${printWithheld(offer, request)}
${printResources(request)}
<h2>For how long</h2>
<p>${client.refreshAccess ? 'Until you revoke it: this partner may renew its access by itself.' : 'For 24 hours. After that it has to ask you again.'} You can revoke it at any moment under “Connected applications”.</p>`
}
<div class="choices">
${scopes.length > 0 && html`<button class="primary" name="decision" value="approve">Allow</button>`}
<button name="decision" value="deny">Deny</button>
</div>
<p class="small">Either way you return to
  <strong>${host}</strong>. The application never sees your password.</p>`,
  )
  return sendPage(reply, {
    title: `Allow ${client.name}?`,
    environment: context.environment,
    forms: ofHolder,
    leadsOn: true,
    body: html`<section class="card narrow">
${printLookLogo(look)}
<h1>Allow <em>${client.name}</em> to use ${whatIsUsed(accounts)}?</h1>
<p>${client.name} is an application of <strong>${client.partnerName}</strong>.</p>
<div class="whose"><p>You are signed in as <strong>${user.name}</strong>.</p>
${ofHolder.button(forms.signInAsOther, 'Not you?', { standing: { request: sealed }, buttonLook: 'quiet' })}</div>
${printLookWords(look)}
${standing && printStanding(standing, offer)}
${form}
</section>`,
  })
}

/** What allowing this does to what was allowed before. */
function printStanding(standing: StandingApproval, { scopes, accounts }: Offer): Html {
  const offered = accounts.map(({ accountNumber }) => accountNumber)
  const lost = without(standing.scopes, scopes)
  const closed = standing.accountNumbers.filter((number) => !offered.includes(number))
  return html`${
    standing.pausedAt !== null &&
    html`<p class="notice waiting">You have paused this application.
    Allowing it resumes its access, with what is chosen here.</p>`
  }
<p>You allowed it access ${printDate(standing.consentedAt)}. What still stands of that is ticked, and nothing
  else. Allowing this replaces what you allowed before, including the access it already has.${
    lost.length > 0 &&
    html` It will no longer be able to:
  <strong>${titlesOf(lost)}</strong>.`
  }${closed.length > 0 && html` It will no longer reach: <strong>${closed.join(', ')}</strong>.`}</p>`
}

/** No account lets this person give it what it asks for, or what it requires. */
function printNothing({ request, client }: PendingRequest): Html {
  const needed = request.scopes.filter((scope) => client.scopesRequired.includes(scope))
  return needed.length > 0
    ? html`<p class="notice error">It does not work without all of the following, and you cannot grant that in
  any of your accounts: ${titlesOf(needed)}.</p>`
    : html`<p class="notice error">You cannot grant what it asks for in any of your
  accounts: ${titlesOf(request.scopes)}.</p>`
}

/** Their provider, or this address, has no such way in. */
function sendUnmet({ context, request, reply }: Visit, { request: asked, client }: PendingRequest) {
  const error = new OAuthError(
    'unmet_authentication_requirements',
    'No way to sign in that this user has here can meet acr_values.',
  )
  request.refusal = error
  return reply.redirect(printErrorCallback(client.callbackUrl, error, asked.state, context.baseUrl), 303)
}

const setups = {
  factor: {
    title: 'Set up two-factor sign-in first',
    need: 'only when you have shown, with a second factor, that it is you',
  },
  passkey: {
    title: 'Set up a passkey first',
    need: 'only when you have signed in with a passkey',
  },
}

/** The request waits meanwhile: a holder who has set one up comes back to this very address. */
function sendSetupFirst(
  { context, reply }: Visit,
  { client, request, sealed }: PendingRequest,
  lack: keyof typeof setups,
) {
  const { title, need } = setups[lack]
  return sendPage(reply, {
    title,
    environment: context.environment,
    status: 403,
    body: html`<section class="card narrow">
<h1>${title}</h1>
<p>${
      request.acrs.length > 0
        ? html`<strong>${client.name}</strong> asks for more than a password: you can allow it ${need}.`
        : html`<strong>${client.name}</strong> asks to trade with your money. The brokerage lets an application do so
  ${need}.`
    }</p>
<p><a class="button primary" href="${onLiveSite(context, '/account/security')}">Set it up now</a></p>
<p>Then <a href="/consent?request=${sealed}">come back to this request</a>.
  It stays open for half an hour.</p>
</section>`,
  })
}

type ConsentView = FormView<(typeof forms.answerConsent)['fields']>

interface ScopeBounds {
  readonly standing: StandingApproval | undefined
  readonly required: readonly Scope[]
}

/** A scope without a choice is said; every other can be left out. */
function printScopes(
  view: ConsentView,
  { scopes }: Offer,
  choice: Choice,
  { standing, required }: ScopeBounds,
) {
  const isAlone = scopes.length === 1 && choice.scopes.length === 1
  const items = scopes.map((scope) => {
    const isNew = standing !== undefined && !standing.scopes.includes(scope)
    const badges = html`${isNew && html` <span class="badge">not allowed so far</span>`}${
      required.includes(scope) && html` <span class="badge">required</span>`
    }`
    if (!isAlone && !required.includes(scope))
      return printScope(scope, { badges, box: (words) => view.box('scope', scope, words) })
    return printScope(scope, { badges, below: html`<input type="hidden" name="scope" value="${scope}">` })
  })
  return html`<fieldset><legend>It will be able to</legend><ul class="scopes">${items}</ul></fieldset>`
}

/** The only account is said, unless the holder has yet to decide about it. */
function printAccounts(
  view: ConsentView,
  accounts: readonly OfferedAccount[],
  { accountNumbers }: Choice,
  standing: StandingApproval | undefined,
): Html {
  const [first] = accounts
  if (accounts.length === 1 && accountNumbers.length === 1)
    return html`<h2>In this account</h2><p>${wordsOf(first!)}</p>${view.hidden('account')}`
  const boxes = accounts.map((account) => {
    const isNew = standing && account.heldSince > standing.consentedAt
    const words = html`<span>${wordsOf(account)}${isNew && html` <span class="badge">new</span>`}</span>`
    return view.box('account', account.accountNumber, words)
  })
  return html`<fieldset><legend>In these accounts</legend>${boxes}</fieldset>`
}

/** Whose it is beside the holder, or instead of them, and what cannot be allowed in it. */
function wordsOf(account: OfferedAccount): Html {
  const kind = `${account.classification.replaceAll('_', ' ')}, ${account.type}`
  const owners = html`<strong>${ownersOf(account)}</strong>`
  const whose = isOwn(account)
    ? account.owners.length > 0 && html` held together with ${owners}`
    : html` held by ${owners} (you are the ${account.role})`
  return html`${account.accountNumber}${whose} <span class="faint">${kind}</span>${
    account.lacks.length > 0 &&
    html` <span class="faint">· you cannot allow here: ${titlesOf(account.lacks)}</span>`
  }`
}

function ownersOf({ owners }: HeldAccount): string {
  return owners.length > 0 ? owners.join(' and ') : 'another person'
}

function whatIsUsed(accounts: readonly HeldAccount[]): string {
  if (accounts.every(isOwn)) return 'your account'
  return accounts.length === 1 ? `the account of ${ownersOf(accounts[0]!)}` : 'these accounts'
}

/** RFC 8707. Otherwise the access is good wherever the brokerage takes it. */
function printResources({ resources }: AuthorizationRequest): Html | false {
  return (
    resources.length > 0 &&
    html`<p>It can use this at ${resources.map((each, place) => html`${place > 0 && ', '}<strong>${each}</strong>`)}
  alone.</p>`
  )
}

/** What is asked for and not offered, and why. */
function printWithheld({ scopes, withheld }: Offer, request: AuthorizationRequest): Html {
  const lost = without(request.scopes, scopes)
  return html`${
    lost.length > 0 &&
    html`<p>It also asked for the following, which you cannot grant:
    <strong>${titlesOf(lost)}</strong>.</p>`
  }
${
  withheld.length > 0 &&
  html`<p>Not listed, because you cannot grant there what it needs:
  ${withheld.map((each) => each.accountNumber).join(', ')}.</p>`
}`
}

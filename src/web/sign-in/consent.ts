/** The consent page: who asks, for what, for how long, and a choice that can be made once. */
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
import { findOffer, type Offer } from '../../users/offer.ts'
import { hasProvenFactor } from '../../users/second-factor.ts'
import { isFresh, isStrong, type Session } from '../../users/session.ts'
import { scopeWords } from '../../vocabulary/scope-words.ts'
import type { Submission } from '../frame/form.ts'
import { checkFormToken, issueFormToken, markOwner } from '../frame/form-token.ts'
import type { FormView } from '../frame/form-view.ts'
import { type Html, html } from '../frame/html.ts'
import { findKeptForm, keepForm } from '../frame/kept-form.ts'
import { onLiveSite } from '../frame/other-site.ts'
import { sendPage } from '../frame/page.ts'
import { PageForms, type ReturnedForm } from '../frame/page-forms.ts'
import type { Visit } from '../frame/visit.ts'
import { actOf, currentSession, returning } from '../frame/visitor.ts'
import { printLookLogo, printLookWords } from '../parts/client-look.ts'
import { printScope } from '../parts/scope.ts'
import { openPending, type PendingRequest } from './destination.ts'
import * as forms from './forms.ts'

/** Scopes that change things ask for every proof that there is, given minutes ago. */
export function needsProof(request: AuthorizationRequest): boolean {
  return request.scopes.includes('trade') || request.scopes.includes('write')
}

/**
 * What stands between this visitor and the answer: a sign-in that is too old, or lacks the second factor that
 * they have; or one that has to be set up first, because the brokerage demands it for trading. Or the
 * application is not open to them yet.
 */
export async function findObstacle(
  { config, clock, db }: Context,
  { request, client }: PendingRequest,
  session: Session,
): Promise<'sign-in' | 'second-factor' | 'not-a-member' | undefined> {
  if (!(await mayTry(db, client, session.user.id))) return 'not-a-member'
  if (!needsProof(request)) return undefined
  const now = clock.now()
  if (!isFresh(session, now) || !(await hasProvenFactor(db, session, now))) return 'sign-in'
  const needsFactor = config.secondFactorForTrade && request.scopes.includes('trade')
  return needsFactor && !isStrong(session, now) ? 'second-factor' : undefined
}

export async function showConsent(visit: Visit) {
  const { context, request, reply } = visit
  const sealed = visit.query.request
  const pending = await openPending(context, typeof sealed === 'string' ? sealed : '')
  const session = await currentSession(context, request)
  const obstacle = session ? await findObstacle(context, pending, session) : 'sign-in'
  if (!session || obstacle === 'sign-in') return reply.redirect(`/login?request=${pending.sealed}`, 303)
  if (obstacle === 'second-factor') return sendSetupFirst(visit, pending)
  if (obstacle === 'not-a-member') throw notOpenYet(pending)
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
  if (obstacle === 'second-factor') return sendSetupFirst(visit, pending)
  if (obstacle === 'not-a-member') throw notOpenYet(pending)
  const act = actOf(context, request, session)
  const { state } = pending.request
  const callbackUrl = pending.client.callbackUrl
  switch (values.decision) {
    case 'approve': {
      const offer = await offerTo(context, session, pending.request, values.shown)
      if (offer.scopes.length === 0) return sendConsent(visit, pending, session)
      const accountNumbers = chooseAccounts(offer.accounts, values.account)
      const text = findChoiceProblem(offer.accounts, values.account, accountNumbers)
      if (text !== undefined) {
        const again = returning(visit, new Problem(400, 'invalid_request', text))
        return sendConsent(again, pending, session, again.returned)
      }
      const consent = {
        request: { ...pending.request, scopes: offer.scopes },
        userId: session.user.id,
        environment: context.environment,
        accountNumbers,
      }
      const code = await approve(context.db, consent, act)
      if (!code) throw answeredAlready()
      return reply.redirect(printCallback(callbackUrl, { code: code.text, iss: context.baseUrl }, state), 303)
    }
    case 'deny': {
      if (!(await deny(context.db, pending.request, act))) throw answeredAlready()
      const error = new OAuthError('access_denied', 'The user denied the request.')
      request.refusal = error.code
      return reply.redirect(printErrorCallback(callbackUrl, error, state, context.baseUrl), 303)
    }
    default:
      throw new Invalid([{ field: 'decision', problem: 'must be approve or deny' }])
  }
}

/**
 * What they may allow of what is asked; of an answer, of what the page has shown: what came to be possible
 * since then was not agreed to.
 */
async function offerTo(
  { db, environment }: Context,
  { user }: Session,
  { scopes }: AuthorizationRequest,
  shown?: string,
): Promise<Offer> {
  const asked = shown === undefined ? scopes : scopes.filter((scope) => shown.split(' ').includes(scope))
  return findOffer(await listOpenAccounts(db, user.id, environment), asked)
}

/** The form token is bound to this session and to this request: one page's token answers no other request. */
function formSecret(session: string, { request }: PendingRequest): string {
  return `${session} ${request.id}`
}

/**
 * Of what is offered now, what the form names: an account that it does not name was not shown, or not ticked.
 */
function chooseAccounts(offered: readonly HeldAccount[], named: readonly string[]): string[] {
  return offered.map((account) => account.accountNumber).filter((number) => named.includes(number))
}

/** Nothing is allowed but what they have seen and chosen, all of it. */
function findChoiceProblem(
  offered: readonly HeldAccount[],
  named: readonly string[],
  chosen: readonly string[],
): string | undefined {
  if (offered.length > 1 && chosen.length === 0) return 'Choose at least one account, or deny the request.'
  const isAll = named.every((number) => chosen.includes(number))
  if (isAll && (chosen.length > 0 || offered.length === 0)) return undefined
  return 'Your accounts have changed since this page was opened. Check what is listed now, then answer.'
}

/**
 * The brokerage has not vouched for the partner: names and accounts of others than its members are not shown
 * to it.
 */
function notOpenYet({ client }: PendingRequest): Forbidden {
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
  const offer = await offerTo(context, session, request)
  const { scopes, accounts } = offer
  const standing = await findStanding(context.db, user.id, client.id)
  const look = await findShownLook(context.db, client.id)
  const host = new URL(client.callbackUrl).host
  const ofHolder = new PageForms(csrf, {}, returned)
  const account = accounts.map(({ accountNumber }) => accountNumber)
  const form = ofHolder.print(
    forms.answerConsent,
    { standing: { request: sealed, shown: scopes.join(' '), account } },
    (view) => html`${
      scopes.length === 0 &&
      html`<p class="notice error">You cannot grant what it asks for in any of your
  accounts: ${request.scopes.map((scope) => scopeWords[scope].title).join(', ')}.</p>`
    }
${
  scopes.length > 0 &&
  html`<h2>It will be able to</h2>
<ul class="scopes">${scopes.map((scope) => printScope(scope))}</ul>
${accounts.length > 1 && printAccounts(view, accounts)}
${
  accounts.length === 1 &&
  html`<h2>In this account</h2><p>${wordsOf(accounts[0]!)}</p>${view.hidden('account')}`
}
${printWithheld(offer, request)}
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
<p>${client.name} is an application of <strong>${client.partnerName}</strong>. You are signed in as
  <strong>${user.name}</strong>.</p>
${printLookWords(look)}
${standing && printStanding(standing, scopes)}
${form}
</section>`,
  })
}

/** What allowing this does to what was allowed before. */
function printStanding(standing: StandingApproval, scopes: AuthorizationRequest['scopes']): Html {
  const lost = standing.scopes
    .filter((scope) => !scopes.includes(scope))
    .map((scope) => scopeWords[scope].title)
  return html`${
    standing.pausedAt !== null &&
    html`<p class="notice waiting">You have paused this application.
    Allowing it resumes its access, with what is listed here.</p>`
  }
<p>You have allowed it access before. Allowing this replaces what you allowed before,
  including the access it already has.${
    lost.length > 0 &&
    html` It will no longer be able to:
  <strong>${lost.join(', ')}</strong>.`
  }</p>`
}

/** The request waits meanwhile: a holder who has set one up comes back to this very address. */
function sendSetupFirst({ context, reply }: Visit, { client, sealed }: PendingRequest) {
  return sendPage(reply, {
    title: 'Set up two-factor sign-in first',
    environment: context.environment,
    status: 403,
    body: html`<section class="card narrow">
<h1>Set up two-factor sign-in first</h1>
<p><strong>${client.name}</strong> asks to trade with your money. The brokerage lets an application do so only
  when you have shown, with a second factor, that it is you.</p>
<p><a class="button primary" href="${onLiveSite(context, '/account/security')}">Set it up now</a></p>
<p>Then <a href="/consent?request=${sealed}">come back to this request</a>.
  It stays open for half an hour.</p>
</section>`,
  })
}

function printAccounts(
  view: FormView<(typeof forms.answerConsent)['fields']>,
  accounts: readonly HeldAccount[],
): Html {
  const boxes = accounts.map((account) => view.box('account', account.accountNumber, wordsOf(account)))
  return html`<fieldset><legend>In these accounts</legend>${boxes}</fieldset>`
}

/** A holder who allows it for another person reads for whom. */
function wordsOf(account: HeldAccount): Html {
  const kind = `${account.classification.replaceAll('_', ' ')}, ${account.type}`
  const whose = isOwn(account)
    ? undefined
    : html` held by <strong>${ownersOf(account)}</strong> (you are the ${account.role})`
  return html`${account.accountNumber}${whose} <span class="faint">${kind}</span>`
}

function ownersOf({ owners }: HeldAccount): string {
  return owners.length > 0 ? owners.join(' and ') : 'another person'
}

function whatIsUsed(accounts: readonly HeldAccount[]): string {
  if (accounts.every(isOwn)) return 'your account'
  return accounts.length === 1 ? `the account of ${ownersOf(accounts[0]!)}` : 'these accounts'
}

/** What is asked for and not offered, and why. */
function printWithheld({ scopes, withheld }: Offer, request: AuthorizationRequest): Html {
  const lost = request.scopes
    .filter((scope) => !scopes.includes(scope))
    .map((scope) => scopeWords[scope].title)
  return html`${
    lost.length > 0 &&
    html`<p>It also asked for the following, which you cannot grant:
    <strong>${lost.join(', ')}</strong>.</p>`
  }
${
  withheld.length > 0 &&
  html`<p>Not listed, because you cannot grant all of this there:
  ${withheld.map((each) => each.accountNumber).join(', ')}.</p>`
}`
}

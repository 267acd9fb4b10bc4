/**
 * Connected applications: who may use the account, what for, what they did lately; pause, resume and revoke.
 */
import type { Context } from '../../context.ts'
import { listActivity, type ScopeActivity } from '../../oauth/activity.ts'
import {
  type Authorization,
  listAuthorizations,
  revokeAuthorization,
  setAuthorizationPaused,
} from '../../oauth/authorization.ts'
import { mayAct } from '../../partners/partner-status.ts'
import { type Scope, scopes } from '../../vocabulary/scope.ts'
import { scopeWords } from '../../vocabulary/scope-words.ts'
import { askFirst } from '../frame/ask.ts'
import { ignoreAlreadyGone, leadToDone } from '../frame/flash-message.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { type Html, html } from '../frame/html.ts'
import { csrfField, notice, printDate } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import { parseId, sendAccountPage } from './account-page.ts'

export async function showApplications(visit: Visit, visitor: UserSession) {
  const { context } = visit
  const applications = await listApplications(context, visitor)
  const ids = applications.map(({ id }) => id)
  const activity = await listActivity(context.db, ids, context.clock.now())
  const activityOf = (id: number) => activity.filter(({ authorizationId }) => authorizationId === id)
  return sendAccountPage(visit, visitor, {
    title: 'Connected applications',
    here: '/account',
    body: html`<h1>Connected applications</h1>
<p>These applications may use your account. Pausing or revoking one takes effect at once.</p>
${applications.length === 0 && html`<p class="card empty">No application is connected to your account.</p>`}
${applications.map((each) => printApplication(each, activityOf(each.id), visitor))}`,
  })
}

async function listApplications(
  { db, environment }: Context,
  { session }: UserSession,
): Promise<Authorization[]> {
  const all = await listAuthorizations(db, { userId: session.user.id })
  return all.filter((each) => each.environment === environment)
}

/** What was approved on the other site is not this one's to change. */
async function findChosen({ context }: Visit, visitor: UserSession, form: SubmittedForm) {
  const id = parseId(form.find('authorization'), 'authorization')
  return (await listApplications(context, visitor)).find((each) => each.id === id)
}

export async function revokeApplication(visit: Visit, visitor: UserSession, form: SubmittedForm) {
  const chosen = await findChosen(visit, visitor, form)
  if (!chosen) return visit.reply.redirect('/account', 303)
  const revoked = { id: chosen.id, ownerId: visitor.session.user.id, reason: 'revoked by the user' }
  await revokeAuthorization(visit.context.db, revoked, visitor.act).catch(ignoreAlreadyGone)
  const text = `${chosen.clientName} has no access any more. To connect it again, start there.`
  return leadToDone(visit, visitor, '/account', {
    text,
    link: { path: '/account/history', label: 'See your history' },
  })
}

export function pauseApplication(visit: Visit, visitor: UserSession, form: SubmittedForm) {
  return setPaused(visit, visitor, form, true)
}

export function resumeApplication(visit: Visit, visitor: UserSession, form: SubmittedForm) {
  return setPaused(visit, visitor, form, false)
}

async function setPaused(visit: Visit, visitor: UserSession, form: SubmittedForm, paused: boolean) {
  const chosen = await findChosen(visit, visitor, form)
  if (!chosen) return visit.reply.redirect('/account', 303)
  const { id, clientName } = chosen
  const change = { id, ownerId: visitor.session.user.id, paused }
  await setAuthorizationPaused(visit.context.db, change, visitor.act).catch(ignoreAlreadyGone)
  const text = paused ? `${clientName} is paused: it has no access now.` : `${clientName} has access again.`
  const undo = {
    action: paused ? '/account/resume' : '/account/pause',
    fields: { authorization: String(id) },
  }
  return leadToDone(visit, visitor, '/account', { text, undo })
}

function printApplication(
  each: Authorization,
  activity: readonly ScopeActivity[],
  { csrf }: UserSession,
): Html {
  const granted = scopes.filter((scope) => each.scopes.includes(scope))
  const suspended = each.clientStatus !== 'active' || !mayAct(each.partnerStatus, each.environment)
  return html`<article class="card application">
<h2>${each.clientName} <span class="faint">by ${each.partnerName}</span></h2>
${suspended && notice('error', 'The brokerage has suspended this application; it has no access at present.')}
${
  each.pausedAt !== null &&
  html`<p class="notice waiting">Paused since ${printDate(each.pausedAt)}.
  It has no access until you resume it.</p>`
}
${granted.length === 0 && notice('error', 'The brokerage no longer lets this application do what you allowed; it has no access at present.')}
${each.sharedAccounts && each.accountNumbers.length === 0 && notice('error', 'You no longer hold any of the accounts that you shared with it; it has no access at present.')}
<ul class="scopes">${granted.map((scope) => printScope(scope, activity))}</ul>
<dl>
<dt>Connected since</dt><dd>${printDate(each.approvedAt)}</dd>
<dt>Last used</dt><dd>${each.lastUsedAt ? printDate(each.lastUsedAt) : 'never'}</dd>
<dt>Access</dt><dd>${each.lasting ? 'until you revoke it' : '24 hours after each approval'}</dd>
<dt>Accounts</dt><dd>${each.accountNumbers.length > 0 ? each.accountNumbers.join(', ') : 'none'}</dd>
</dl>
<div class="acts">
${each.pausedAt === null ? printAct(each, csrf, 'pause', 'Pause') : printAct(each, csrf, 'resume', 'Resume')}
${askFirst({
  ...{ action: '/account/revoke', csrf, fields: { authorization: each.id }, of: `of ${each.clientName}` },
  ...{ label: 'Revoke access' },
  text: 'It loses access at once and has to ask you again.',
})}
</div>
</article>`
}

/** The button names the application, for people who use a screen reader. */
function printAct(each: Authorization, csrf: string, act: 'pause' | 'resume', words: string): Html {
  const kind = { pause: 'plain', resume: 'primary' }[act]
  return html`<form method="post" action="/account/${act}">${csrfField(csrf)}<input type="hidden"
    name="authorization" value="${each.id}"><button class="${kind}">${words}<span
    class="unseen"> ${each.clientName}</span></button></form>`
}

function printScope(scope: Scope, activity: readonly ScopeActivity[]): Html {
  const { title, text, movesMoney } = scopeWords[scope]
  return html`<li${movesMoney && html` class="money"`}><strong>${title}</strong> ${
    movesMoney &&
    html`<span
    class="badge">moves money</span>`
  }<br>${text}
<span class="small used">${printUses(activity.find((each) => each.scope === scope))}</span></li>`
}

function printUses(used: ScopeActivity | undefined): Html {
  if (!used) return html`Not used in the last 30 days`
  const times = used.uses === 1 ? 'Used once' : `Used ${used.uses.toLocaleString('en-GB')} times`
  return html`${times} in the last 30 days, the last time on ${printDate(used.lastUsedAt)}`
}

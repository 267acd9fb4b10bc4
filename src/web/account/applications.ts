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
import { ignoreAlreadyGone, leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { notice, printDate } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import { printScope } from '../parts/scope.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'

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
${applications.map((each) => printApplication(each, activityOf(each.id), visitor))}
${visitor.session.user.role !== 'test' && printForDevelopers(context)}`,
  })
}

async function listApplications(
  { db, environment }: Context,
  { session }: UserSession,
): Promise<Authorization[]> {
  const all = await listAuthorizations(db, { userId: session.user.id })
  return all.filter((each) => each.environment === environment)
}

type ChosenForm = Submission<typeof forms.revokeApplication>

/** What was approved on the other site is not this one's to change. */
async function findChosen({ context }: Visit, visitor: UserSession, { values }: ChosenForm) {
  return (await listApplications(context, visitor)).find((each) => each.id === values.authorization)
}

export async function revokeApplication(visit: Visit, visitor: UserSession, form: ChosenForm) {
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

export function pauseApplication(visit: Visit, visitor: UserSession, form: ChosenForm) {
  return setPaused(visit, visitor, form, true)
}

export function resumeApplication(visit: Visit, visitor: UserSession, form: ChosenForm) {
  return setPaused(visit, visitor, form, false)
}

async function setPaused(visit: Visit, visitor: UserSession, form: ChosenForm, paused: boolean) {
  const chosen = await findChosen(visit, visitor, form)
  if (!chosen) return visit.reply.redirect('/account', 303)
  const { id, clientName } = chosen
  const change = { id, ownerId: visitor.session.user.id, paused }
  await setAuthorizationPaused(visit.context.db, change, visitor.act).catch(ignoreAlreadyGone)
  const text = paused ? `${clientName} is paused: it has no access now.` : `${clientName} has access again.`
  const undo = {
    action: (paused ? forms.resumeApplication : forms.pauseApplication).path,
    fields: { authorization: String(id) },
  }
  return leadToDone(visit, visitor, '/account', { text, undo })
}

function printApplication(
  each: Authorization,
  activity: readonly ScopeActivity[],
  visitor: UserSession,
): Html {
  const standing = { authorization: each.id }
  const named = { standing, of: each.clientName }
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
<ul class="scopes">${granted.map((scope) => printUsedScope(scope, activity))}</ul>
<dl>
<dt>Connected since</dt><dd>${printDate(each.approvedAt)}</dd>
<dt>Last used</dt><dd>${each.lastUsedAt ? printDate(each.lastUsedAt) : 'never'}</dd>
<dt>Access</dt><dd>${each.lasting ? 'until you revoke it' : '24 hours after each approval'}</dd>
<dt>Accounts</dt><dd>${each.accountNumbers.length > 0 ? each.accountNumbers.join(', ') : 'none'}</dd>
</dl>
<div class="acts">
${
  each.pausedAt === null
    ? visitor.forms.button(forms.pauseApplication, 'Pause', { ...named, buttonLook: 'plain' })
    : visitor.forms.button(forms.resumeApplication, 'Resume', { ...named, buttonLook: 'primary' })
}
${visitor.forms.ask(forms.revokeApplication, {
  ...{ standing, label: 'Revoke access', of: `of ${each.clientName}` },
  text: 'It loses access at once and has to ask you again.',
})}
</div>
</article>`
}

function printUsedScope(scope: Scope, activity: readonly ScopeActivity[]): Html {
  const used = activity.find((each) => each.scope === scope)
  return printScope(scope, { below: html` <span class="small used">${printUses(used)}</span>` })
}

function printUses(used: ScopeActivity | undefined): Html {
  if (!used) return html`Not used in the last 30 days`
  const times = used.uses === 1 ? 'Used once' : `Used ${used.uses.toLocaleString('en-GB')} times`
  return html`${times} in the last 30 days, the last time on ${printDate(used.lastUsedAt)}`
}

/** One line, for the few customers who write programs; others need not know what a sandbox is. */
function printForDevelopers({ environment, sisterUrl }: Context): Html {
  return html`<details class="other"><summary>For developers</summary>
<ul><li><a href="/account/api">API settings</a>: tokens for your own programs</li>
${environment === 'live' && html`<li><a href="${sisterUrl}/account">Sandbox</a>: the same, where nothing is real</li>`}
<li><a href="/partner">Partner portal</a>: offer an application to other customers</li></ul></details>`
}

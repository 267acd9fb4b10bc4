/** For an operator whom a page is not open to: what it takes, and how they get it. */
import { type Permission, rolesWith, type StaffRole } from '../../vocabulary/permission.ts'
import { staffRoleWords } from '../../vocabulary/staff-role-words.ts'
import { html } from './html.ts'
import { sendPage } from './page.ts'
import type { Visit } from './visit.ts'
import type { UserSession } from './visitor.ts'

const titlesOf = (roles: readonly StaffRole[]) => roles.map((role) => staffRoleWords[role].title)

export function sendPermissionNeeded(
  { context, request, reply }: Visit,
  { session, forms }: UserSession,
  roles: readonly StaffRole[],
  permission: Permission,
): undefined {
  request.refusal = { code: 'forbidden' }
  const has = roles.length === 0 ? 'You have no role yet.' : `You have: ${titlesOf(roles).join(', ')}.`
  sendPage(reply, {
    title: 'This needs another role',
    environment: context.environment,
    status: 403,
    account: { user: session.user, forms, here: '/console' },
    body: html`<section class="card narrow">
<h1>This needs another role</h1>
<p>${has} Any of these opens it:</p>
<ul>${titlesOf(rolesWith(permission)).map((title) => html`<li>${title}</li>`)}</ul>
<p>An administrator or a security officer can give you one.</p>
${roles.length > 0 && html`<p><a class="button primary" href="/console">Back to the console</a></p>`}
</section>`,
  })
}

export function sendFactorNeeded({ context, reply }: Visit, { session, forms }: UserSession): undefined {
  sendPage(reply, {
    title: 'Set up two-factor sign-in first',
    environment: context.environment,
    status: 403,
    account: { user: session.user, forms, here: '/console' },
    body: html`<section class="card narrow">
<h1>Set up two-factor sign-in first</h1>
<p>The console can stop partners and lock people out. It opens to staff who have shown, with a second factor,
  that it is them.</p>
<p><a class="button primary" href="/account/security">Set it up now</a></p>
<p>Then <a href="/console">come back to the console</a>.</p>
</section>`,
  })
}

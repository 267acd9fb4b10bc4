/** Recovery codes, shown once: with the first factor, and whenever new ones are asked for. */
import type { Token } from '../../crypto/token.ts'
import type { Sql } from '../../database/database.ts'
import { hasSecondFactor, renewRecoveryCodes } from '../../users/second-factor.ts'
import type { User } from '../../users/user.ts'
import type { Submission } from '../frame/form.ts'
import { html } from '../frame/html.ts'
import { makeOnce } from '../frame/make-once.ts'
import { placeOf } from '../frame/place.ts'
import type { Visit } from '../frame/visit.ts'
import { signedInAs, type UserSession } from '../frame/visitor.ts'
import type { StrongUserSession } from '../gates/gates.ts'
import { sendAccountPage } from './account-page.ts'
import type * as forms from './forms.ts'

export async function makeCodes(
  visit: Visit,
  visitor: StrongUserSession,
  form: Submission<typeof forms.makeRecoveryCodes>,
) {
  const { context, reply } = visit
  const { user, token } = visitor.session
  if (!(await hasSecondFactor(context.db, user.id))) return reply.redirect('/account/security', 303)
  const make = (db: Sql) => renewRecoveryCodes(db, user.id, visitor.act)
  const sent = await makeOnce(context, visitor, form, make, () => '/account/security?done=codes-before')
  if (sent.kind === 'before') return reply.redirect(sent.path, 303)
  return sendRecoveryCodes(visit, visitor, token, sent.made)
}

/** `token` is the session as it is from now on. */
export function sendRecoveryCodes(
  visit: Visit,
  { session }: UserSession,
  token: Token,
  codes: readonly string[],
) {
  const visitor = signedInAs(visit.context, visit.request, { ...session, token })
  return sendAccountPage(visit, visitor, {
    title: 'Your recovery codes',
    here: '/account/security',
    scripts: ['copy.js', 'print.js'],
    body: html`<section class="card narrow created" role="status">
<h1>Your recovery codes</h1>
<p>Two-factor sign-in is on. If you ever lose your phone, each of these codes signs you in once.
  <strong>Print or save them now: they are not shown again.</strong></p>
<div class="copied"><ol class="codes">${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ol>
<button type="button" class="copy">Copy<span class="unseen"> the codes</span></button></div>
<div class="acts"><a class="button" download="recovery-codes.txt" href="${toFile(visit, session.user, codes)}">Download</a>
<button type="button" data-print hidden>Print</button></div>
<p>Keep them where you keep papers, not beside your password.</p>
<p><a class="button primary" href="/account/security">I have kept them</a></p>
</section>`,
  })
}

/** A file that the page itself holds: nothing is asked for once more. */
function toFile({ context, reply }: Visit, { username }: User, codes: readonly string[]): string {
  const { brand } = placeOf(reply)
  const head = `Recovery codes of ${username} for ${brand.name}, ${new URL(context.baseUrl).host}.`
  const text = [head, 'Each of them signs in once, beside the password.', '', ...codes, ''].join('\n')
  return `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`
}

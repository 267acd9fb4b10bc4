/** The address that notices go to. Changed only minutes after a sign-in; the address before is told. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { findMail, setEmail } from '../users/email.ts'
import { sendAccountPage } from './account-page.ts'
import { type Draft, findProblem, formNotice, textField } from './form-fields.ts'
import { html } from './html.ts'
import { csrfField } from './page.ts'
import { readSignedForm, requireFreshSignIn, type SignedIn } from './visitor.ts'

const here = '/account/security/email'
const notices = '/account/security/notices'

export async function showEmail(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireFreshSignIn(context, request, reply, here)
  if (!visitor) return reply
  const mail = await findMail(context.db, visitor.session.user.id)
  return sendEmail(context, reply, visitor, { values: { email: mail?.email ?? '' } }, mail?.email ?? undefined)
}

export async function submitEmail(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireFreshSignIn(context, request, reply, here)
  if (!visitor) return reply
  const email = readSignedForm(request, visitor).find('email') ?? ''
  const { session, by } = visitor
  const problem = await findProblem(() => setEmail(context.db, session.user, email, by, context.clock.now()))
  if (!problem) return reply.redirect(`${notices}?done=email`, 303)
  const mail = await findMail(context.db, session.user.id)
  return sendEmail(context, reply, visitor, { values: { email }, problem }, mail?.email ?? undefined)
}

export async function removeEmail(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireFreshSignIn(context, request, reply, here)
  if (!visitor) return reply
  readSignedForm(request, visitor)
  await setEmail(context.db, visitor.session.user, undefined, visitor.by, context.clock.now())
  return reply.redirect(`${notices}?done=removed`, 303)
}

function sendEmail(
  context: Context,
  reply: FastifyReply,
  { csrf, ...who }: SignedIn,
  draft: Draft,
  now: string | undefined,
) {
  const hint = 'Somebody who can read this mailbox learns when you sign in and what you connect.'
  const more = html`type="email" autocomplete="email" autocapitalize="none" spellcheck="false" required maxlength="254" autofocus`
  return sendAccountPage(
    context,
    reply,
    { csrf, ...who },
    {
      title: 'E-mail address',
      here: '/account/security',
      status: draft.problem ? 400 : 200,
      body: html`<section class="card narrow">
<h1>E-mail address</h1>
<p>${now === undefined ? 'Where notices about your account go.' : 'Where notices about your account go. The address that you have now is told of the change.'}</p>
${formNotice(draft, 'email')}
<form method="post" action="/account/security/email">
${csrfField(csrf)}${textField(draft, { name: 'email', label: 'E-mail address', hint, more })}
<button class="primary">Save</button>
</form>
${now !== undefined && html`<form method="post" action="/account/security/email/remove">${csrfField(csrf)}<button class="quiet wide">Remove the address: no more notices</button></form>`}
<p class="small"><a href="${notices}">Back to the notices</a></p>
</section>`,
    },
  )
}

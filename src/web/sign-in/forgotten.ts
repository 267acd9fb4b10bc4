/** For users who forgot their password: they name themselves, get a link by e-mail, and choose a new one. */

import type { Token } from '../../crypto/token.ts'
import { parseLinkToken } from '../../notices/invitation-link.ts'
import { Invalid } from '../../problem.ts'
import { askForReset, findReset, takeReset } from '../../users/password-reset.ts'
import type { Submission } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { sendPage } from '../frame/page.ts'
import type { PageForms } from '../frame/page-forms.ts'
import { paramsOf, type Visit } from '../frame/visit.ts'
import { actOf, formsOfGuest, returning } from '../frame/visitor.ts'
import * as forms from './forms.ts'
import { loginDependencies, tellCrowded } from './login-dependencies.ts'

interface Told {
  readonly title: string
  readonly body: Html
  readonly status?: number
  readonly forms?: PageForms
}

function send({ context, reply }: Visit, { title, body, ...rest }: Told) {
  return sendPage(reply, {
    ...{ title, environment: context.environment },
    ...rest,
    body: html`<section class="card narrow"><h1>${title}</h1>${body}</section>`,
  })
}

export async function showForgotten(visit: Visit) {
  const ofGuest = formsOfGuest(visit)
  const form = ofGuest.print(
    forms.askForReset,
    {},
    (view) =>
      html`${view.field('username', { hasFocus: true })}${view.button('Send the link', { look: 'primary' })}`,
  )
  return send(visit, {
    title: 'Forgotten password',
    forms: ofGuest,
    body: html`<p>We send a link to the e-mail address of your account. It works once, for an hour at most.</p>
${form}
<p class="small"><a href="/login">Back to sign-in</a></p>`,
  })
}

/** The same answer at the same moment, whichever user was named: what becomes of it happens afterwards. */
export async function submitForgotten(visit: Visit, { values }: Submission<typeof forms.askForReset>) {
  const { context, request } = visit
  await context.passwordResets.countFrom(request.ip)
  const act = actOf(context, request)
  askForReset(loginDependencies(context), values.username, act).catch((error: unknown) =>
    context.log.error({ err: error }, 'a link for a forgotten password could not be sent'),
  )
  return send(visit, {
    title: 'Check your e-mail',
    body: html`<p>If the account exists and has an e-mail address, a link is on its way there. It works once,
      for an hour at most.</p>
<p class="small">No e-mail? Then the account has no address, its address was changed lately,
  or it signs in elsewhere. Contact the brokerage.</p>
<p><a class="button" href="/login">Back to sign-in</a></p>`,
  })
}

/** Undefined for a link that has ended, or never was. */
async function openLink({
  context,
  request,
}: Visit): Promise<{ token: Token; username: string } | undefined> {
  const token = parseLinkToken(paramsOf(request).token, 'reset')
  const found = token && (await findReset(context.db, token, context.clock.now()))
  return found && { token: token!, username: found.username }
}

function sendEnded(visit: Visit) {
  const body = html`<p>It was used, is more than an hour old, or a newer one was sent.</p><p><a class="button"
    href="/login/forgotten">Send a new link</a></p>`
  return send(visit, { title: 'This link no longer works', body, status: 404 })
}

export async function showReset(visit: Visit) {
  const link = await openLink(visit)
  return link ? sendReset(visit, link.username) : sendEnded(visit)
}

function sendReset(visit: Visit, username: string) {
  const ofGuest = formsOfGuest(visit)
  const form = ofGuest.print(
    forms.resetPassword,
    {},
    (view) => html`<input type="hidden" name="username" value="${username}" autocomplete="username">
${view.field('password', { hasFocus: true })}${view.button('Set the password', { look: 'primary' })}`,
  )
  return send(visit, {
    title: 'Choose a new password',
    forms: ofGuest,
    body: html`<p>For <strong>${username}</strong>. Whoever is signed in with the old one is signed out.</p>
${form}`,
  })
}

export async function submitReset(visit: Visit, { values }: Submission<typeof forms.resetPassword>) {
  const { context, request } = visit
  const link = await openLink(visit)
  if (!link) return sendEnded(visit)
  const deps = loginDependencies(context)
  const act = actOf(context, request)
  try {
    const isSet = await takeReset(deps, deps.passwords, link.token, values.password, act)
    if (!isSet) return sendEnded(visit)
  } catch (error) {
    if (!(error instanceof Invalid)) return tellCrowded(error)
    return sendReset(returning(visit, error), link.username)
  }
  const body = html`<p>Sign in with it. A second factor is asked for as before.</p><p><a
    class="button primary" href="/login">Sign in</a></p>`
  return send(visit, { title: 'Your new password is set', body })
}

/** Where password managers look. */
export async function leadToChange({ reply }: Visit) {
  return reply.redirect('/account/password', 303)
}

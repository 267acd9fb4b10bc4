/** For users who forgot their password: they name themselves, get a link by e-mail, and choose a new one. */

import type { Token } from '../../crypto/token.ts'
import { parseLinkToken } from '../../notices/invitation-link.ts'
import { Invalid } from '../../problem.ts'
import { passwordMinCharacters } from '../../users/password.ts'
import { askForReset, findReset, takeReset } from '../../users/password-reset.ts'
import { ensureVisit, readCookie } from '../frame/cookies.ts'
import { fieldLengths } from '../frame/field-lengths.ts'
import { printField } from '../frame/fields.ts'
import { issueFormToken, readForm } from '../frame/forms.ts'
import { type Html, html } from '../frame/html.ts'
import { csrfField, sendPage } from '../frame/page.ts'
import { paramsOf, type Visit } from '../frame/visit.ts'
import { actOf } from '../frame/visitor.ts'
import { loginDependencies, tellCrowded } from './login-dependencies.ts'

function send({ context, reply }: Visit, title: string, body: Html, status = 200) {
  const { environment } = context
  return sendPage(reply, {
    title,
    environment,
    status,
    body: html`<section class="card narrow"><h1>${title}</h1>${body}</section>`,
  })
}

const csrfOf = ({ context, request, reply }: Visit) =>
  csrfField(issueFormToken(ensureVisit(context, request, reply)))

export async function showForgotten(visit: Visit) {
  return send(
    visit,
    'Forgotten password',
    html`<p>We send a link to the e-mail address of your account. It works once, for an hour at most.</p>
<form method="post" action="/login/forgotten">${csrfOf(visit)}
<label>Username<input name="username" autocomplete="username" autocapitalize="none" spellcheck="false"
  required maxlength="${fieldLengths['/login/forgotten'].username}" autofocus></label>
<button class="primary">Send the link</button></form>
<p class="small"><a href="/login">Back to sign-in</a></p>`,
  )
}

/** The same answer at the same moment, whichever user was named: what becomes of it happens afterwards. */
export async function submitForgotten(visit: Visit) {
  const { context, request } = visit
  const form = readForm(request, readCookie(context, request, 'visit'))
  await context.passwordResets.countFrom(request.ip)
  const act = actOf(context, request)
  askForReset(loginDependencies(context), form.find('username') ?? '', act).catch((error: unknown) =>
    context.log.error({ err: error }, 'a link for a forgotten password could not be sent'),
  )
  return send(
    visit,
    'Check your e-mail',
    html`<p>If the account exists and has an e-mail address, a link is on its way there. It works once,
      for an hour at most.</p>
<p class="small">No e-mail? Then the account has no address, its address was changed lately,
  or it signs in elsewhere. Contact the brokerage.</p>
<p><a class="button" href="/login">Back to sign-in</a></p>`,
  )
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
  const text = html`<p>It was used, is more than an hour old, or a newer one was sent.</p><p><a class="button"
    href="/login/forgotten">Send a new link</a></p>`
  return send(visit, 'This link no longer works', text, 404)
}

export async function showReset(visit: Visit) {
  const link = await openLink(visit)
  return link ? sendReset(visit, link.username) : sendEnded(visit)
}

function sendReset(visit: Visit, username: string, problem?: string) {
  const field = {
    type: 'password',
    maxLength: fieldLengths['/login/reset/:token'].password,
    autocomplete: 'new-password',
  } as const
  return send(
    visit,
    'Choose a new password',
    html`<p>For <strong>${username}</strong>. Whoever is signed in with the old one is signed out.</p>
<form method="post" action="${visit.request.url.split('?')[0]}">${csrfOf(visit)}<input type="hidden"
  name="username" value="${username}" autocomplete="username">
${printField({ ...field, name: 'password', label: 'New password', hint: `At least ${passwordMinCharacters} characters, of any kind. Several unrelated words are easy to remember and hard to guess.`, problem, focused: true })}
<button class="primary">Set the password</button></form>`,
    problem === undefined ? 200 : 400,
  )
}

export async function submitReset(visit: Visit) {
  const { context, request } = visit
  const form = readForm(request, readCookie(context, request, 'visit'))
  const link = await openLink(visit)
  if (!link) return sendEnded(visit)
  const deps = loginDependencies(context)
  try {
    const isSet = await takeReset(
      deps,
      deps.passwords,
      link.token,
      form.find('password') ?? '',
      actOf(context, request),
    )
    if (!isSet) return sendEnded(visit)
  } catch (error) {
    if (!(error instanceof Invalid)) return tellCrowded(error)
    return sendReset(visit, link.username, `The password ${error.fields![0]!.problem}.`)
  }
  const text = html`<p>Sign in with it. A second factor is asked for as before.</p><p><a
    class="button primary" href="/login">Sign in</a></p>`
  return send(visit, 'Your new password is set', text)
}

/** Where password managers look. */
export async function leadToChange({ reply }: Visit) {
  return reply.redirect('/account/password', 303)
}

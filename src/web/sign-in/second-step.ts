/**
 * The second page of a sign-in, for users with a second factor: a passkey, a code of the app, or a recovery
 * code.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { Form } from '../../http/form.ts'
import { askForKnown } from '../../users/passkey.ts'
import { findSecondFactors, isLocked, type SecondFactors } from '../../users/second-factor.ts'
import {
  type FirstStep,
  findPendingSignIn,
  openFirstStep,
  type PendingSignIn,
  type Proof,
  sealFirstStep,
  takeSecondStep,
} from '../../users/second-step.ts'
import type { User } from '../../users/user.ts'
import { clearCookie, ensureVisit, readCookie, renewVisit, setCookie } from '../frame/cookies.ts'
import { fieldLengths } from '../frame/field-lengths.ts'
import { printField } from '../frame/fields.ts'
import { issueFormToken, readForm, type SubmittedForm } from '../frame/forms.ts'
import { type Html, html } from '../frame/html.ts'
import { csrfField, notice, sendPage } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import { actOf, browserOf, currentSession } from '../frame/visitor.ts'
import { type Destination, getDestination, parseDestination } from './destination.ts'
import { readDevice } from './device-cookie.ts'
import { letIn } from './let-in.ts'
import { addressMustWait, loginDependencies } from './login-dependencies.ts'
import { passkeyScript, passkeySite, printPasskeyForm } from './passkey-form.ts'

const refusedText =
  'That code is not right, has been used, or there were too many attempts. Wait for the next one and try again.'

/**
 * After the right password: the note for the second step, and nothing that was known to the login page stays
 * good.
 */
export function goOnToSecondStep(
  context: Context,
  reply: FastifyReply,
  step: FirstStep,
  { field }: Destination,
): FastifyReply {
  setCookie(context, reply, 'step', sealFirstStep(context.vault, context.environment, step))
  renewVisit(context, reply)
  return reply.redirect(`/login/second?${new URLSearchParams([[field.name, field.value]])}`, 303)
}

export async function showSecondStep({ context, request, reply }: Visit) {
  const destination = await parseDestination(context, request.query as Form)
  const pendingSignIn = await currentPendingSignIn(context, request)
  if (!pendingSignIn) return backToLogin(reply, destination)
  return sendSecondStep(context, request, reply, { destination, user: pendingSignIn.user })
}

export async function submitSecondStep({ context, request, reply }: Visit) {
  const form = readForm(request, readCookie(context, request, 'visit'))
  const destination = await getDestination(context, form.find('request'), form.find('return'))
  const pendingSignIn = await currentPendingSignIn(context, request)
  if (!pendingSignIn) return backToLogin(reply, destination)
  const { user } = pendingSignIn
  const from = {
    environment: context.environment,
    browser: browserOf(request),
    previous: await currentSession(context, request),
    device: readDevice(context, request),
  }
  const proof = readProof(context, form)
  const outcome = await takeSecondStep(
    loginDependencies(context),
    pendingSignIn,
    proof,
    from,
    actOf(context, request),
  )
  switch (outcome.kind) {
    case 'address-must-wait':
      throw addressMustWait(outcome)
    case 'refused':
      request.refusal = 'access_denied'
      return sendSecondStep(context, request, reply, { destination, user, refused: proof.kind })
    case 'over':
      request.refusal = 'access_denied'
      clearCookie(context, reply, 'step')
      return backToLogin(reply, destination, '&ended=codes')
    case 'signed-in':
      clearCookie(context, reply, 'step')
      return letIn({ context, request, reply }, { ...outcome, user }, destination)
  }
}

/** Undefined when the password has to be asked for first, or again. */
async function currentPendingSignIn(
  context: Context,
  request: FastifyRequest,
): Promise<PendingSignIn | undefined> {
  const sealed = readCookie(context, request, 'step')
  const step = openFirstStep(context.vault, context.environment, sealed, context.clock.now())
  return step && findPendingSignIn(context.db, step)
}

function backToLogin(reply: FastifyReply, { field, pending }: Destination, why = ''): FastifyReply {
  const confirm = pending ? '' : '&confirm=1'
  return reply.redirect(`/login?${new URLSearchParams([[field.name, field.value]])}${confirm}${why}`, 303)
}

function readProof(context: Context, form: SubmittedForm): Proof {
  const response = form.find('credential') ?? ''
  const site = passkeySite(context)
  if (response !== '' && site) return { kind: 'passkey', site, response, sealed: form.find('offer') ?? '' }
  const recovery = form.find('recovery')
  if (recovery !== undefined) return { kind: 'recovery code', code: recovery }
  return { kind: 'authenticator app', code: form.find('code') ?? '' }
}

interface SecondStepPage {
  readonly destination: Destination
  readonly user: User
  readonly refused?: Proof['kind']
}

async function sendSecondStep(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  page: SecondStepPage,
) {
  const { destination, user, refused } = page
  const { pending, field } = destination
  const factors = await findSecondFactors(context.db, user.id)
  const csrf = csrfField(issueFormToken(ensureVisit(context, request, reply)))
  const hidden = html`${csrf}<input type="hidden" name="${field.name}" value="${field.value}">`
  const passkey = await printPasskey(context, user, factors, hidden, refused)
  return sendPage(reply, {
    title: 'Second step',
    environment: context.environment,
    status: refused === undefined ? 200 : 401,
    leadsOn: pending !== undefined,
    scripts: passkey ? [passkeyScript] : [],
    body: html`<section class="card narrow">
<h1>One more step</h1>
<p>You are almost signed in. Confirm that it is you, <strong>${user.username}</strong>.</p>
${passkey}
${factors.totp && (isLocked(factors) ? printLocked() : printCodeForm(hidden, refused))}
${printRecoveryForm(hidden, factors, passkey !== undefined, refused)}
${
  pending &&
  html`<form method="post" action="/login/cancel">${hidden}<button
  class="quiet wide">Cancel and return to ${new URL(pending.client.callbackUrl).host}</button></form>`
}
<p class="small"><a href="/login?${new URLSearchParams([[field.name, field.value]]).toString()}&amp;confirm=1">Start again</a></p>
</section>`,
  })
}

/** Undefined for users who have none on this site. */
async function printPasskey(
  context: Context,
  user: User,
  { passkeys, totp }: SecondFactors,
  fields: Html,
  refused: Proof['kind'] | undefined,
): Promise<Html | undefined> {
  const site = passkeySite(context)
  if (!site || !passkeys.some(({ environment }) => environment === site.environment)) return undefined
  const asked = await askForKnown(context.vault, site, user, passkeys, context.clock.now())
  const form = {
    action: '/login/second',
    way: 'get',
    asked,
    fields,
    button: 'Use a passkey',
    primary: !totp,
  } as const
  const problem =
    refused === 'passkey' &&
    notice('error', 'That passkey was not accepted, or there were too many attempts.')
  return html`${problem}${printPasskeyForm(form)}`
}

function printLocked(): Html {
  return notice(
    'error',
    'Your authenticator app is locked, because a hundred codes in a row were wrong. A recovery code unlocks it. Without one, ask the brokerage for help.',
  )
}

function printCodeForm(hidden: Html, refused: Proof['kind'] | undefined) {
  const problem = refused === 'authenticator app' ? refusedText : undefined
  return html`<form method="post" action="/login/second">
${hidden}
${printField({ name: 'code', label: 'Code from your authenticator app', autocomplete: 'one-time-code', inputMode: 'numeric', maxLength: fieldLengths['/login/second'].code, hint: 'Six digits. Each code works once.', problem, focused: refused !== 'recovery code' })}
<button class="primary">Continue</button>
</form>`
}

function printRecoveryForm(hidden: Html, factors: SecondFactors, hasPasskey: boolean, refused?: string) {
  const { totp, recoveryCodes } = factors
  const problem =
    refused === 'recovery code'
      ? 'That recovery code is not right, has been used, or there were too many attempts.'
      : undefined
  const open = ((totp === undefined || isLocked(factors)) && !hasPasskey) || problem !== undefined
  return html`<details class="other"${open && html` open`}>
<summary>Use a recovery code instead</summary>
<form method="post" action="/login/second">
${hidden}
${printField({ name: 'recovery', label: 'Recovery code', autocomplete: 'off', maxLength: fieldLengths['/login/second'].recovery, hint: recoveryCodes === 0 ? 'You have none left. Ask the brokerage for help.' : 'One of those that you were shown when you set this up. Each works once.', problem, focused: problem !== undefined })}
<button>Use recovery code</button>
</form>
</details>`
}

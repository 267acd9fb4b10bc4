/**
 * The second page of a sign-in, for users with a second factor: a passkey, a code of the app, or a recovery
 * code.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { NotFound, Problem } from '../../problem.ts'
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
import { clearCookie, readCookie, renewVisit, setCookie } from '../frame/cookies.ts'
import type { Submission } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { notice, sendPage } from '../frame/page.ts'
import type { PageForms } from '../frame/page-forms.ts'
import type { Visit } from '../frame/visit.ts'
import { actOf, formsOfGuest, returning } from '../frame/visitor.ts'
import {
  type Destination,
  getDestination,
  parseDestination,
  printCancel,
  printOnward,
} from './destination.ts'
import * as forms from './forms.ts'
import { letIn, originOf } from './let-in.ts'
import { addressMustWait, loginDependencies } from './login-dependencies.ts'
import { passkeyOf, passkeyScript, passkeySite, printPasskeyParts } from './passkey-form.ts'

/**
 * After the right password: the note for the second step, and nothing that was known to the login page stays
 * good.
 */
export function goOnToSecondStep(
  context: Context,
  reply: FastifyReply,
  step: FirstStep,
  destination: Destination,
): FastifyReply {
  setCookie(context, reply, 'step', sealFirstStep(context.vault, context.environment, step))
  renewVisit(context, reply)
  return reply.redirect(`/login/second?${printOnward(destination)}`, 303)
}

export async function showSecondStep(visit: Visit) {
  const { context, request, reply, query } = visit
  const destination = await parseDestination(context, query)
  const pendingSignIn = await currentPendingSignIn(context, request)
  if (!pendingSignIn) return backToLogin(reply, destination)
  return sendSecondStep(visit, destination, pendingSignIn.user)
}

const refusedText =
  'That code is not right, has been used, or there were too many attempts. Wait for the next one and try again.'

export async function submitCode(visit: Visit, { values }: Submission<typeof forms.sendCode>) {
  return takeProof(visit, values, { kind: 'authenticator app', code: values.code }, ['code', refusedText])
}

export async function submitRecoveryCode(
  visit: Visit,
  { values }: Submission<typeof forms.sendRecoveryCode>,
) {
  const text = 'That recovery code is not right, has been used, or there were too many attempts.'
  return takeProof(visit, values, { kind: 'recovery code', code: values.recovery }, ['recovery', text])
}

export async function submitPasskey(visit: Visit, { values }: Submission<typeof forms.sendPasskey>) {
  const site = passkeySite(visit.context)
  if (!site) throw new NotFound('There are no passkeys at an address without a name.')
  const proof = { kind: 'passkey', site, response: values.credential, sealed: values.offer } as const
  const text = 'That passkey was not accepted, or there were too many attempts.'
  return takeProof(visit, values, proof, [undefined, text])
}

/** `refusal`: the field that was wrong, and what its user is told. */
async function takeProof(
  visit: Visit,
  onward: Destination['onward'],
  proof: Proof,
  [field, text]: readonly [string | undefined, string],
) {
  const { context, request, reply } = visit
  const destination = await getDestination(context, onward)
  const pendingSignIn = await currentPendingSignIn(context, request)
  if (!pendingSignIn) return backToLogin(reply, destination)
  const { user } = pendingSignIn
  const from = await originOf(context, request)
  const act = actOf(context, request)
  const outcome = await takeSecondStep(loginDependencies(context), pendingSignIn, proof, from, act)
  switch (outcome.kind) {
    case 'address-must-wait':
      throw addressMustWait(outcome)
    case 'refused': {
      request.refusal = { code: 'access_denied' }
      const fields = field === undefined ? {} : { fields: [{ field, problem: text }] }
      const problem = new Problem(401, 'access_denied', text, fields)
      return sendSecondStep(returning(visit, problem), destination, user)
    }
    case 'over':
      request.refusal = { code: 'access_denied' }
      clearCookie(context, reply, 'step')
      return backToLogin(reply, destination, '&ended=codes')
    case 'signed-in':
      clearCookie(context, reply, 'step')
      return letIn(visit, { ...outcome, user }, destination)
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

function backToLogin(reply: FastifyReply, destination: Destination, why = ''): FastifyReply {
  const confirm = destination.pending ? '' : '&confirm=1'
  return reply.redirect(`/login?${printOnward(destination)}${confirm}${why}`, 303)
}

async function sendSecondStep(visit: Visit, destination: Destination, user: User) {
  const { context, reply } = visit
  const { pending, onward } = destination
  const factors = await findSecondFactors(context.db, user.id)
  const ofGuest = formsOfGuest(visit)
  const passkey = await printPasskey(context, ofGuest, user, factors, onward)
  return sendPage(reply, {
    title: 'Second step',
    environment: context.environment,
    forms: ofGuest,
    leadsOn: pending !== undefined,
    scripts: passkey ? [passkeyScript] : [],
    body: html`<section class="card narrow">
<h1>One more step</h1>
<p>You are almost signed in. Confirm that it is you, <strong>${user.username}</strong>.</p>
${passkey}
${factors.totp && (isLocked(factors) ? printLocked() : printCodeForm(ofGuest, onward))}
${printRecoveryForm(ofGuest, onward, factors, passkey !== undefined)}
${pending && printCancel(ofGuest, onward, pending)}
<p class="small"><a href="/login?${printOnward(destination)}&amp;confirm=1">Start again</a></p>
</section>`,
  })
}

/** Undefined for users who have none on this site. */
async function printPasskey(
  context: Context,
  ofGuest: PageForms,
  user: User,
  { passkeys, totp }: SecondFactors,
  onward: Destination['onward'],
): Promise<Html | undefined> {
  const site = passkeySite(context)
  if (!site || !passkeys.some(({ environment }) => environment === site.environment)) return undefined
  const asked = await askForKnown(context.vault, site, user, passkeys, context.clock.now())
  const standing = { ...onward, offer: asked.sealed, credential: '' }
  return ofGuest.print(forms.sendPasskey, { ...passkeyOf('get', asked), standing }, () =>
    printPasskeyParts('Use a passkey', !totp),
  )
}

function printLocked(): Html {
  return notice(
    'error',
    'Your authenticator app is locked, because a hundred codes in a row were wrong. A recovery code unlocks it. Without one, ask the brokerage for help.',
  )
}

function printCodeForm(ofGuest: PageForms, onward: Destination['onward']): Html {
  return ofGuest.print(
    forms.sendCode,
    { standing: onward },
    (view) => html`${view.field('code', { hasFocus: true })}${view.button('Continue', { look: 'primary' })}`,
  )
}

function printRecoveryForm(
  ofGuest: PageForms,
  onward: Destination['onward'],
  factors: SecondFactors,
  hasPasskey: boolean,
): Html {
  const { totp, recoveryCodes } = factors
  const options = { standing: onward }
  const isAlone = (totp === undefined || isLocked(factors)) && !hasPasskey
  const hint =
    recoveryCodes === 0
      ? 'You have none left. Ask the brokerage for help.'
      : 'One of those that you were shown when you set this up. Each works once.'
  const form = ofGuest.print(
    forms.sendRecoveryCode,
    options,
    (view) => html`${view.field('recovery', { hint })}${view.button('Use recovery code')}`,
  )
  const isOpen = isAlone || ofGuest.holds(forms.sendRecoveryCode, options)
  return html`<details class="other"${isOpen && html` open`}>
<summary>Use a recovery code instead</summary>
${form}
</details>`
}

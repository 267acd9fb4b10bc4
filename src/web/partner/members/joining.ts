/**
 * For an invited person who is not signed in: with their own account, or with one that they make here. It is no
 * customer's. Where customers come from the brokerage's systems, or sign in at its identity provider, nobody
 * makes accounts here: the page says whom to ask.
 */
import { type Invitation, joinByInvitation, memberNameOf } from '../../../partners/invitation.ts'
import { Conflict, NotFound } from '../../../problem.ts'
import { hasSpoken } from '../../../provisioning/source.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { sendPage } from '../../frame/page.ts'
import { placeOf } from '../../frame/place.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import { actOf, currentSession, formsOfGuest } from '../../frame/visitor.ts'
import { getDestination } from '../../sign-in/destination.ts'
import { letIn, originOf } from '../../sign-in/let-in.ts'
import { tellCrowded } from '../../sign-in/login-dependencies.ts'
import * as forms from './forms.ts'
import { openInvitation, printTerms, sendGone, tokenOf } from './invitation-parts.ts'

async function canMakeAccount({ context }: Visit): Promise<boolean> {
  return context.config.signIn.holderSignIn !== 'provider' && !(await hasSpoken(context.db))
}

export async function showJoining(visit: Visit, invitation: Invitation) {
  const { context, request, reply } = visit
  const canMake = await canMakeAccount(visit)
  const here = `/partner/invitation/${paramsOf(request).token}`
  const ofGuest = formsOfGuest(visit)
  return sendPage(reply, {
    title: `Invitation to ${invitation.partnerName}`,
    environment: context.environment,
    forms: ofGuest,
    body: html`<section class="card narrow"><h1>${invitation.partnerName} invites you</h1>
${printTerms(invitation)}
<p><a class="button ${!canMake && 'primary'}" href="/login?return=${encodeURIComponent(here)}">I have an account: sign in</a></p></section>
${canMake ? printForm() : printWhomToAsk(visit, invitation)}`,
  })

  function printForm(): Html {
    const username = memberNameOf(invitation)
    const hint = `You sign in with it. It ends in #${invitation.branchId}.`
    const print = ofGuest.print(
      forms.join,
      { standing: { username } },
      (view) => html`${view.field('name')}${view.field('username', { hint })}${view.field('password')}
${view.button(`Join ${invitation.partnerName}`, { look: 'primary' })}`,
    )
    return html`<section class="card narrow"><h2>Make an account</h2>
<p>For the partner portal, at <strong>${invitation.email}</strong>. It opens no brokerage account.</p>
${print}
<p class="small">Two-factor sign-in can be set up afterwards, under Security.</p></section>`
  }
}

function printWhomToAsk({ reply }: Visit, { invitedBy }: Invitation): Html {
  const { name } = placeOf(reply).brand
  return html`<section class="card narrow"><h2>No account?</h2>
<p>Accounts are given by ${name}. Ask ${name} for one${invitedBy !== null && `, or ask ${invitedBy} how colleagues get theirs`}. Then
  follow this link again: it works until it expires.</p></section>`
}

export async function join(visit: Visit, { values }: Submission<typeof forms.join>) {
  const { context, request } = visit
  const invitation = await openInvitation(visit)
  const token = tokenOf(visit)
  if (!token || !invitation) return sendGone(visit, undefined)
  if (await currentSession(context, request))
    return visit.reply.redirect(`/partner/invitation/${token.text}`, 303)
  if (!(await canMakeAccount(visit))) throw new Conflict('No accounts are made here.')
  const { db, passwords } = context
  const person = { ...values, name: values.name.trim(), username: values.username.trim().toLowerCase() }
  const from = await originOf(context, request)
  try {
    const joined = await joinByInvitation({ db, passwords }, token, person, from, actOf(context, request))
    const destination = await getDestination(context, { return: `/partner/${invitation.branchId}` })
    return await letIn(visit, joined, destination)
  } catch (error) {
    if (error instanceof NotFound) return sendGone(visit, undefined)
    return tellCrowded(error)
  }
}

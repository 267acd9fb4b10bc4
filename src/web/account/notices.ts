/** E-mail notices: where they go, which of them come, and the last ones. */
import { type DeclinableKind, declinable, type PersonalKind, staffKinds } from '../../notices/facts.ts'
import { listNotices, type RecipientNotice } from '../../notices/notice.ts'
import { listPartnersOf } from '../../partners/partner.ts'
import { declineNotices, findMail, type Mail } from '../../users/email.ts'
import { leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { printDate } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'

const here = '/account/security/notices'
const shownAtMost = 10

const kindWords: Record<PersonalKind, string> = {
  'sign-in': 'A sign-in from a device that was not seen before',
  application: 'A new application is connected to your account',
  'access-ended': 'An application loses access because of a change to your accounts',
  address: 'Your e-mail address is changed or removed',
  password: 'Your password is changed',
  'second-factor': 'A second factor is added, removed or reset',
  'recovery-codes': 'New recovery codes are made',
  'api-token': 'An API token is made',
  'webhook-failing': 'A webhook is failing',
  'webhook-recovered': 'A webhook that was failing works again',
  'webhook-disabled': 'A webhook is disabled',
  'secret-expiring': 'A client secret, or one that signs a webhook, ends within a day',
  'partner-decided': 'The brokerage decides about a partner',
  'partner-message': 'A message between a partner and the brokerage',
  'client-profile': 'The brokerage sets the profile of a client, such as FAPI 2.0 from a date on',
  'password-reset': 'A link for a new password, when you asked for one',
  'staff-password': 'An operator signs in with a password although there is a provider for staff',
  'member-joined': 'Somebody accepts an invitation to a partner that you own',
  proposal: 'A proposal needs your decision',
  'break-glass': 'Something that takes two people is done on the command line',
  alerts: 'Several alerts at once',
  operations: 'As an operator: a webhook is disabled, deliveries are late, a provider is away, keys end',
  power:
    'As an administrator: a role, an identity provider, a service, a brand, keys, or the way in of somebody of the staff is changed',
}

export async function showNotices(visit: Visit, visitor: UserSession) {
  const { context } = visit
  const { user } = visitor.session
  const mail = (await findMail(context.db, user.id)) ?? { email: null, declinedNotices: [] }
  const isMember = user.role === 'operator' || (await listPartnersOf(context.db, user.id)).length > 0
  const last = await listNotices(context.db, user.id, shownAtMost)
  return sendAccountPage(visit, visitor, {
    title: 'E-mail notices',
    here: '/account/security',
    body: html`<h1>E-mail notices</h1>
${printAddress(mail)}
<section class="card">
<h2>What you are told</h2>
<p>Always, because it guards your account:</p>
<ul>${guards.map((kind) => html`<li>${kindWords[kind]}</li>`)}</ul>
${
  user.role === 'operator' &&
  html`<p>Always,
  as staff of the brokerage:</p><ul>${staffKinds.map((kind) => html`<li>${kindWords[kind]}</li>`)}</ul>`
}
${isMember && printChoice(mail, visitor)}
</section>
<section class="card">
<h2>Last notices</h2>
${
  last.length === 0
    ? html`<p class="empty">There were none in the last 90 days.</p>`
    : html`<ul
  class="tokens">${last.map(printLast)}</ul>`
}
</section>`,
  })
}

/** A choice among those of a partner's members; a user who is no member has nothing to choose. */
export async function chooseNotices(
  visit: Visit,
  visitor: UserSession,
  { values: { kind: wanted } }: Submission<typeof forms.chooseNotices>,
) {
  const { context } = visit
  const { user } = visitor.session
  const before = (await findMail(context.db, user.id))?.declinedNotices ?? []
  const offered = offeredTo(visitor)
  await declineNotices(
    context.db,
    user,
    offered.filter((kind) => !wanted.includes(kind)),
    visitor.act,
  )
  const undo = { action: here, fields: { kind: offered.filter((kind) => !before.includes(kind)) } }
  return leadToDone(visit, visitor, here, { text: 'Your choice is saved.', undo })
}

const guards = (Object.keys(kindWords) as PersonalKind[]).filter(
  (kind) => !([...declinable, ...staffKinds, 'alerts'] as readonly PersonalKind[]).includes(kind),
)

function printAddress({ email }: Mail): Html {
  return html`<section class="card">
<h2>Address</h2>
${
  email === null
    ? html`<p class="empty">You gave no address, so nothing is sent.</p>`
    : html`<p><strong
  class="address">${email}</strong></p>`
}
<p><a class="button" href="/account/security/email">${email === null ? 'Give an address' : 'Change address'}</a></p>
</section>`
}

function offeredTo({ session }: UserSession): readonly DeclinableKind[] {
  return declinable.filter((kind) => kind !== 'operations' || session.user.role === 'operator')
}

function printChoice({ declinedNotices }: Mail, visitor: UserSession): Html {
  const offered = offeredTo(visitor)
  const choices = offered.map((value) => ({ value, label: kindWords[value] }))
  const wanted = offered.filter((kind) => !declinedNotices.includes(kind))
  return visitor.forms.print(
    forms.chooseNotices,
    { standing: { kind: wanted } },
    (view) => html`${view.field('kind', { choices })}${view.button('Save')}`,
  )
}

const stateWords: Record<RecipientNotice['state'], string> = {
  waiting: 'waiting',
  sent: 'sent',
  'given up': 'not sent',
}

function printLast({ kind, email, state, createdAt }: RecipientNotice): Html {
  const badge = html`<span class="badge${state !== 'sent' && html` off`}">${stateWords[state]}</span>`
  return html`<li><div><strong>${kindWords[kind]}</strong> ${badge}<br><span
    class="faint">${printDate(createdAt)} · to <span class="address">${email}</span></span></div></li>`
}

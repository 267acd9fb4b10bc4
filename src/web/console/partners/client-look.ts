/**
 * What an application says of itself, in front of an operator: beside what is shown now, as account holders
 * would see it.
 */
import type { Client } from '../../../partners/client.ts'
import {
  acceptLook,
  type ClientLook,
  declineLook,
  findLooks,
  withdrawLook,
} from '../../../partners/client-look.ts'
import { NotFound } from '../../../problem.ts'
import { sendImageTo } from '../../frame/assets.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge, crumbs, facts } from '../../frame/parts.ts'
import { idOf, type Visit } from '../../frame/visit.ts'
import type { Operator, ReasonedOperator, StrongOperator } from '../../gates/gates.ts'
import { printLookLogo, printLookWords } from '../../parts/client-look.ts'
import { goBack } from '../frame/back.ts'
import { sendConsole } from '../frame/console.ts'
import { clientOf } from './client-acts.ts'
import * as forms from './forms.ts'

export const lookPath = ({ branchId, id }: Pick<Client, 'branchId' | 'id'>) =>
  `/console/partners/${branchId}/clients/${id}/look`

export async function showLook(visit: Visit, operator: Operator) {
  const { partner, client } = await clientOf(visit)
  const { pending, shown } = await findLooks(visit.context.db, client.id)
  const here = lookPath(client)
  return sendConsole(visit, operator, {
    title: `Consent page of ${client.name}`,
    section: '/console/partners',
    body: html`${crumbs([
      { path: '/console/partners', label: 'Partners' },
      { path: `/console/partners/${partner.branchId}`, label: partner.name },
    ])}
<h1>Consent page of ${client.name}</h1>
<p>What account holders see of the application when they are asked for access.
  The words and the logo are the partner’s. Accept nothing that claims to be somebody else,
  or to be recommended by you.</p>
${!pending && !shown && html`<p class="card empty">The partner has given nothing.</p>`}
${pending && printPending(client, pending, here, operator)}
${shown && printShown(client, shown, operator)}`,
  })
}

function printPending({ name }: Client, pending: ClientLook, here: string, operator: Operator): Html {
  const act = { standing: { version: pending.version }, of: `what ${name} says` }
  return html`<section class="card" id="pending"><h2>${name} ${badge('wait', 'waits')}</h2><p
    class="faint">Sent ${printDate(pending.givenAt)}.</p>
${printLookLogo(pending, `${here}/logo?version=${pending.version}`)}${printLookWords(pending)}${printAddresses(pending)}
<div class="acts">${operator.forms.button(forms.acceptLook, 'Accept', { ...act, buttonLook: 'primary' })}
${operator.forms.ask(forms.declineLook, {
  ...{ ...act, label: 'Decline' },
  text: 'The partner reads the reason, and can send it again. What is shown now stays.',
})}</div></section>`
}

function printShown({ name }: Client, shown: ClientLook, operator: Operator): Html {
  return html`<section class="card"><h2>${name} ${badge('good', 'shown')}</h2><p class="faint">Accepted
    ${printDate(shown.decidedAt!)}.</p>
${printLookLogo(shown)}${printLookWords(shown)}${printAddresses(shown)}
${operator.forms.ask(forms.withdrawLook, {
  ...{ label: 'Withdraw', of: `what ${name} says` },
  text: 'Account holders see the name alone, until the partner sends it again and it is accepted.',
})}</section>`
}

/** Whole: a label can hide where a link leads. */
function printAddresses({ website, privacyUrl, termsUrl }: ClientLook): Html {
  return facts([
    ['Website', website ?? undefined],
    ['Privacy', privacyUrl ?? undefined],
    ['Terms', termsUrl ?? undefined],
  ])
}

export async function showLookLogo(visit: Visit, _operator: Operator) {
  const { pending } = await findLooks(visit.context.db, (await clientOf(visit)).client.id)
  if (!pending?.logo) throw new NotFound()
  return sendImageTo(visit, pending.logo.hash)
}

export async function accept(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.acceptLook>,
) {
  const { client } = await clientOf(visit)
  await acceptLook(visit.context.db, client, idOf(values.version), operator.act)
  return back(visit, operator, client, 'Account holders see it from now on.')
}

export async function decline(
  visit: Visit,
  operator: ReasonedOperator,
  { values }: Submission<typeof forms.declineLook>,
) {
  const { client } = await clientOf(visit)
  await declineLook(visit.context.db, client, idOf(values.version), operator.act)
  return back(visit, operator, client, 'It is declined. The partner reads the reason.')
}

export async function withdraw(visit: Visit, operator: ReasonedOperator) {
  const { client } = await clientOf(visit)
  await withdrawLook(visit.context.db, client, operator.act)
  return back(visit, operator, client, 'It is shown no longer.')
}

function back(visit: Visit, operator: Operator, client: Client, text: string) {
  return goBack(visit, operator, {
    path: lookPath(client),
    about: `client:${client.id}`,
    name: client.name,
    text,
  })
}

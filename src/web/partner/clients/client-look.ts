/**
 * What account holders see of a client when they are asked for access: given here, and shown once the
 * brokerage has looked at it.
 */
import type { Client } from '../../../partners/client.ts'
import {
  type ClientLook,
  findLooks,
  giveLook,
  type LooksOfClient,
  parseLook,
} from '../../../partners/client-look.ts'
import { NotFound } from '../../../problem.ts'
import { sendImageTo } from '../../frame/assets.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge, crumbs } from '../../frame/parts.ts'
import { takeImage } from '../../frame/uploaded-image.ts'
import type { Visit } from '../../frame/visit.ts'
import type { FreshMember, Member } from '../../gates/gates.ts'
import { printLookLogo, printLookWords } from '../../parts/client-look.ts'
import { sendPortal } from '../frame/portal.ts'
import { clientOf } from './clients.ts'
import * as forms from './forms.ts'

const homeOf = ({ home }: Member, { id }: Client) => `${home}/clients/${id}/look`

export async function showLook(visit: Visit, member: Member) {
  const client = await clientOf(visit, member)
  const looks = await findLooks(visit.context.db, client.id)
  const here = homeOf(member, client)
  return sendPortal(visit, member, {
    title: `Consent page of ${client.name}`,
    section: '/clients',
    body: html`${crumbs([
      { path: `${member.home}/clients`, label: 'Clients' },
      { path: `${member.home}/clients/${client.id}`, label: client.name },
    ])}
<h1>Consent page of ${client.name}</h1>
<p>What account holders see of the application when they are asked for access, beside its name and yours.
  The brokerage looks at it first.</p>
${
  looks.shown &&
  printState(
    client,
    looks.shown,
    badge('good', 'shown'),
    html`Accepted
  ${printDate(looks.shown.decidedAt!)}.`,
  )
}
${
  looks.pending &&
  printState(
    client,
    looks.pending,
    badge('wait', 'waits for the brokerage'),
    html`Sent
  ${printDate(looks.pending.givenAt)}.${looks.shown && ' What is above stays until it is accepted.'}`,
    `${here}/logo?version=${looks.pending.version}`,
  )
}
${
  looks.declined &&
  html`<p class="notice error">The brokerage declined what you sent
  ${printDate(looks.declined.givenAt)}: “${looks.declined.reason ?? ''}”</p>`
}
${member.isDeveloper && printForm(looks, member)}`,
  })
}

function printState({ name }: Client, look: ClientLook, state: Html, when: Html, src?: string): Html {
  return html`<section class="card"><h2>${name} ${state}</h2><p
    class="faint">${when}</p>${printLookLogo(look, src)}${printLookWords(look)}</section>`
}

function printForm({ pending, shown, declined }: LooksOfClient, member: Member): Html {
  const now = pending ?? declined ?? shown
  const standing = {
    ...{ purpose: now?.purpose, website: now?.website },
    ...{ privacyUrl: now?.privacyUrl, termsUrl: now?.termsUrl },
  }
  const hasLogo = Boolean((pending ?? shown)?.logo)
  const logo = {
    hint: html`PNG, or SVG with shapes alone. At most 200 KB. ${hasLogo && 'Without a file the one above stays.'}`,
  }
  return html`<section class="card"><h2>Change</h2>
${member.forms.print(
  forms.saveLook,
  { standing },
  (view) => html`${view.field('purpose')}${view.field('website')}${view.field('privacyUrl')}
${view.field('termsUrl')}${view.field('logo', logo)}${hasLogo && view.field('without')}
${view.button('Send to the brokerage', { look: 'primary' })}`,
)}</section>`
}

export async function saveLook(
  visit: Visit,
  member: FreshMember,
  { values }: Submission<typeof forms.saveLook>,
) {
  const client = await clientOf(visit, member)
  const words = parseLook((name) => values[name])
  const image = await takeImage(visit, member, 'logo')
  const logo = image ?? (values.without ? 'none' : 'keep')
  await giveLook(visit.context.db, client, words, logo, member.act)
  const link = { path: `${member.home}/clients/${client.id}`, label: client.name }
  return leadToDone(visit, member, homeOf(member, client), { text: 'Sent to the brokerage.', link })
}

/** Until it is accepted, only users who may see this page see it. */
export async function showLookLogo(visit: Visit, member: Member) {
  const { pending } = await findLooks(visit.context.db, (await clientOf(visit, member)).id)
  if (!pending?.logo) throw new NotFound()
  return sendImageTo(visit, pending.logo.hash)
}

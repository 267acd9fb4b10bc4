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
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, textField } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField, printDate } from '../../frame/page.ts'
import { badge, crumbs } from '../../frame/parts.ts'
import { takeImage } from '../../frame/uploaded-image.ts'
import type { Visit } from '../../frame/visit.ts'
import type { FreshMember, Member } from '../../gates/gates.ts'
import { printLookLogo, printLookWords } from '../../parts/client-look.ts'
import { sendPortal } from '../frame/portal.ts'
import { clientOf } from './clients.ts'

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
${member.isDeveloper && printForm(looks, here, member)}`,
  })
}

function printState({ name }: Client, look: ClientLook, state: Html, when: Html, src?: string): Html {
  return html`<section class="card"><h2>${name} ${state}</h2><p
    class="faint">${when}</p>${printLookLogo(look, src)}${printLookWords(look)}</section>`
}

function printForm({ pending, shown, declined }: LooksOfClient, here: string, { csrf }: Member): Html {
  const now = pending ?? declined ?? shown
  const { purpose, website, privacyUrl, termsUrl } = now ?? {
    purpose: null,
    website: null,
    privacyUrl: null,
    termsUrl: null,
  }
  const draft: Draft = {
    values: {
      purpose: purpose ?? '',
      website: website ?? '',
      privacyUrl: privacyUrl ?? '',
      termsUrl: termsUrl ?? '',
    },
  }
  const page = html`type="url"
    maxlength="${fieldLengths['/partner/:branch/clients/:client/look/save'].website}"
    placeholder="https://www.example.com/…" spellcheck="false"`
  const hasLogo = Boolean((pending ?? shown)?.logo)
  return html`<section class="card"><h2>Change</h2>
<form method="post" action="${here}/save" enctype="multipart/form-data">${csrfField(csrf)}
${textField(draft, { name: 'purpose', label: 'What it is for', hint: 'One sentence, such as: Shows your holdings beside those at other brokers.', more: html`maxlength="${fieldLengths['/partner/:branch/clients/:client/look/save'].purpose}"` })}
${textField(draft, { name: 'website', label: 'Website', more: page })}
${textField(draft, { name: 'privacyUrl', label: 'Privacy policy', more: page })}
${textField(draft, { name: 'termsUrl', label: 'Terms', more: page })}
<div class="field"><label for="logo">Logo</label><input type="file" id="logo" name="logo"
  accept="image/png,image/svg+xml" aria-describedby="logo-hint"><p class="hint" id="logo-hint">PNG,
  or SVG with shapes alone. At most 200 KB. ${hasLogo && 'Without a file the one above stays.'}</p></div>
${
  hasLogo &&
  html`<label class="tick"><input type="checkbox" name="without"
  value="yes"><span>Show no logo</span></label>`
}
<button class="primary">Send to the brokerage</button></form></section>`
}

export async function saveLook(visit: Visit, member: FreshMember, form: SubmittedForm) {
  const client = await clientOf(visit, member)
  const words = parseLook((name) => form.find(name))
  const image = await takeImage(visit, member, 'logo')
  const logo = image ?? (form.find('without') === 'yes' ? 'none' : 'keep')
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

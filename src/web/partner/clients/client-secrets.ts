/** The secrets of a client: those that are alive, and a new one, shown once. */

import type { Client } from '../../../partners/client.ts'
import type { ClientSecret } from '../../../partners/client-secret.ts'
import { copyLine, copySecret } from '../../frame/copy.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge, facts } from '../../frame/parts.ts'
import type { Member } from '../../gates/gates.ts'
import * as forms from './forms.ts'

export function printSecret({ id }: Client, secret: string): Html {
  return html`<section class="card created" role="status"><h2>New secret</h2><p>Copy it now.
    It is not shown again.</p>
${facts([['client_id', copyLine('the client id', id)]])}${copySecret('the secret', secret)}</section>`
}

export function printSecrets(
  { id }: Client,
  secrets: readonly ClientSecret[],
  { isDeveloper, forms: ofPage }: Member,
  now: Date,
): Html {
  const at = { client: id }
  const items = secrets.map(
    (each) => html`<li><div>ends in
      <code>${each.hint}</code>
      ${each.expiresAt ? badge('wait', 'being replaced') : badge('good', 'active')}<br>
<span class="faint">made ${printDate(each.createdAt)} · last used
  ${each.lastUsedAt ? printDate(each.lastUsedAt) : 'never'}${
    each.signsFrom > now &&
    html` · signs webhooks
  from ${printDate(each.signsFrom)}`
  }${
    each.expiresAt !== null &&
    html` · ends
  ${printDate(each.expiresAt)}`
  }</span></div>
${
  isDeveloper &&
  ofPage.ask(forms.revokeSecret, {
    ...{ at, standing: { secret: each.id }, label: 'Revoke', of: `the secret that ends in ${each.hint}` },
    text: 'Whoever still uses it is refused from the next call on.',
  })
}</li>`,
  )
  const form = () =>
    ofPage.print(
      forms.rotateSecret,
      { at, standing: { overlap: 'week' } },
      (view) => html`${view.field('overlap')}${view.field('switchAt')}${view.button('Make a new secret')}`,
    )
  return html`<section class="card"><h2>Secrets</h2>
${
  items.length === 0
    ? html`<p class="empty">No secret is active: without a key or a certificate
  this application cannot call.</p>`
    : html`<ul class="tokens">${items}</ul>`
}
${isDeveloper && form()}</section>`
}

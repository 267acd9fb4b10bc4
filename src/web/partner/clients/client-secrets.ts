/** The secrets of a client: those that are alive, and a new one, shown once. */

import { day, hour } from '../../../clock.ts'
import type { Client } from '../../../partners/client.ts'
import type { ClientSecret } from '../../../partners/client-secret.ts'
import { askFirst } from '../../frame/ask.ts'
import { copyLine, copySecret } from '../../frame/copy.ts'
import { choiceField, type Draft, formNotice, textField } from '../../frame/fields.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField, printDate } from '../../frame/page.ts'
import { badge, facts } from '../../frame/parts.ts'
import { onceField } from '../../frame/submission.ts'
import type { Member } from '../../gates/gates.ts'

/** How long the old secret lives beside the new one, by the names a person would choose. */
export const overlaps = new Map([
  ['none', { label: 'ends at once', ms: 0 }],
  ['hour', { label: 'lives for one hour', ms: hour }],
  ['day', { label: 'lives for one day', ms: day }],
  ['week', { label: 'lives for seven days', ms: 7 * day }],
])

export function printSecret({ id }: Client, secret: string): Html {
  return html`<section class="card created" role="status"><h2>New secret</h2><p>Copy it now.
    It is not shown again.</p>
${facts([['client_id', copyLine('the client id', id)]])}${copySecret('the secret', secret)}</section>`
}

export function printSecrets(
  { id }: Client,
  secrets: readonly ClientSecret[],
  rotation: Draft,
  { home, csrf, isDeveloper }: Member,
  now: Date,
): Html {
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
${isDeveloper && askFirst({ action: `${home}/clients/${id}/revoke`, csrf, fields: { secret: each.id }, label: 'Revoke', of: `the secret that ends in ${each.hint}`, text: 'Whoever still uses it is refused from the next call on.' })}</li>`,
  )
  const choices = [...overlaps].map(([value, { label }]) => ({ value, label: `The old one ${label}` }))
  const form = html`<form method="post" action="${home}/clients/${id}/rotate">${csrfField(csrf)}${onceField()}
${choiceField({ ...rotation, values: { overlap: 'week', ...rotation.values } }, { name: 'overlap', label: 'New secret' }, choices)}
${textField(rotation, { name: 'switchAt', label: 'Signs webhooks from (UTC)', hint: 'Until then the old one signs x-webhook-signature. Before the old one ends; at once when empty.', more: html`type="datetime-local"` })}
<button>Make a new secret</button></form>`
  return html`<section class="card"><h2>Secrets</h2>${formNotice(rotation, 'overlap', 'switchAt')}
${
  items.length === 0
    ? html`<p class="empty">No secret is active:
  this application cannot call.</p>`
    : html`<ul class="tokens">${items}</ul>`
}
${isDeveloper && form}</section>`
}

/** The public keys of a client: those that are alive, and how more come. */

import { after, day } from '../../../clock.ts'
import type { Client } from '../../../partners/client.ts'
import type { ClientKey } from '../../../partners/client-keys.ts'
import type { KeySet } from '../../../partners/key-sets.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import type { Member } from '../../gates/gates.ts'
import { printKey, printKeySet, printKeyUse } from '../../parts/client-keys.ts'
import * as forms from './forms.ts'

const latelyMs = 30 * day

interface KeysShown {
  readonly keys: readonly ClientKey[]
  readonly set: KeySet | undefined
  readonly now: Date
}

export function printKeys(client: Client, { keys, set, now }: KeysShown, member: Member): Html {
  const items = keys.map(
    (key) => html`<li><div>${printKey(key)}<br><span class="faint">${printKeyUse(key)}</span></div>
${!set && member.isDeveloper && printRemoval(client, key, member, now)}</li>`,
  )
  return html`<section class="card" id="keys"><h2>Public keys</h2>
<p>The application signs with its private key, which stays with it; here is the public one. Several may be alive
  at once: add the next key, sign with it, then ${set ? 'take' : 'remove'} the one before${set && ' out of the set'}.</p>
${set && html`<p>${printKeySet(set)}</p>`}
${items.length === 0 ? html`<p class="empty">No key is known.</p>` : html`<ul class="tokens">${items}</ul>`}
${member.isDeveloper && html`${!set && printAddition(client, member)}${printPlace(client, set, member)}`}</section>`
}

function printRemoval({ id }: Client, key: ClientKey, { forms: ofPage }: Member, now: Date): Html {
  const isUsed = key.lastUsedAt !== null && key.lastUsedAt > after(now, -latelyMs)
  return ofPage.ask(forms.removeKey, {
    ...{ at: { client: id }, standing: { key: key.id }, label: 'Remove', of: `the key ${key.thumbprint}` },
    text: html`${isUsed && html`It was last used ${printDate(key.lastUsedAt!)}. `}What is signed with it is refused from the next
      call on.`,
  })
}

function printAddition({ id }: Client, { forms: ofPage }: Member): Html {
  return ofPage.print(
    forms.addKeys,
    { at: { client: id } },
    (view) => html`${view.field('jwks')}${view.button('Add')}`,
  )
}

function printPlace({ id }: Client, set: KeySet | undefined, { forms: ofPage }: Member): Html {
  const options = { at: { client: id }, standing: { jwksUri: set?.jwksUri ?? '' } }
  const isOpen = set !== undefined || ofPage.holds(forms.placeKeys, options)
  return html`<details${isOpen && html` open`}><summary>Read the keys at an address</summary>
${ofPage.print(forms.placeKeys, options, (view) => html`${view.field('jwksUri')}${view.button('Save the address')}`)}</details>`
}

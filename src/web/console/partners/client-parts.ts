/** A partner's clients on its page, each with what an operator may decide about it. */
import type { Client } from '../../../partners/client.ts'
import type { ClientKey } from '../../../partners/client-keys.ts'
import { hasFapi2 } from '../../../partners/client-profile.ts'
import type { ClientSecret } from '../../../partners/client-secret.ts'
import type { KeySet } from '../../../partners/key-sets.ts'
import type { ScopeRequest } from '../../../partners/scope-request.ts'
import { scopes } from '../../../vocabulary/scope.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import type { Operator } from '../../gates/gates.ts'
import { printKey, printKeySet, printKeyUse } from '../../parts/client-keys.ts'
import { type Offers, printOffer } from '../frame/four-eyes.ts'
import { type ProfilesShown, printProfile, printProfileForm } from './client-profile.ts'
import * as forms from './forms.ts'

interface ClientsPage {
  readonly clients: readonly Client[]
  readonly secrets: readonly ClientSecret[]
  readonly keys: readonly ClientKey[]
  readonly keySets: readonly KeySet[]
  readonly requests: readonly ScopeRequest[]
  readonly profiles: ProfilesShown
  readonly home: string
  readonly operator: Operator
  /** Whether the reader may decide about them. */
  readonly manages: boolean
  readonly offers: Offers
}

const clientsShown = 20

export function printClients(page: ClientsPage): Html {
  const items = page.clients.slice(0, clientsShown).map((client) => printClient(client, page))
  const more = page.clients.length - items.length
  return html`<section class="card"><h2>Clients</h2>
${
  more > 0 &&
  html`<p>The first ${clientsShown}; ${more} more are listed by
  <code>countersign client list</code>.</p>`
}
${
  items.length === 0
    ? html`<p class="empty">It has registered none.</p>`
    : html`<ul
  class="tokens">${items}</ul>`
}</section>`
}

function printClient(client: Client, page: ClientsPage): Html {
  const { secrets, requests, home, manages, operator } = page
  const isActive = client.status === 'active'
  const own = secrets.filter(({ clientId }) => clientId === client.id)
  const asked = requests.find(({ clientId }) => clientId === client.id)
  const at = { client: client.id }
  return html`<li id="client-${client.id}"><div><strong>${client.name}</strong>
    ${badge(isActive ? 'good' : 'bad', client.status)} ${
      client.environment === 'sandbox' &&
      html`<span
    class="badge sandbox">Sandbox</span>`
    }<br>
<code>${client.id}</code><br><span class="faint">${client.callbackUrl} · asks for ${client.scopes.join(' ')} ·
  allowed: ${client.scopesAtMost.join(' ')} · ${
    client.scopesRequired.length > 0 && html`requires: ${client.scopesRequired.join(' ')} · `
  }registered ${printDate(client.createdAt)} ·
  <a href="${home}/clients/${client.id}/look">consent page<span class="unseen"> of ${client.name}</span></a></span>
${own.length === 0 ? html`<br><span class="faint">No secret is active.</span>` : own.map((each) => printSecret(each, hasFapi2(client, page.profiles.now)))}${printKeys(client, page)}
${printProfile(client, page)}
${asked && printRequest(client, asked, page)}${manages && html`${printMost(client, page)}${printRequired(client, page)}${printProfileForm(client, page)}`}</div>
${
  manages &&
  (isActive
    ? operator.forms.ask(forms.suspendClient, {
        ...{ at, label: 'Suspend', of: client.name },
        text: 'Its tokens are refused at once, until it is activated again.',
      })
    : operator.forms.button(forms.activateClient, 'Activate', { at, of: client.name, buttonLook: 'primary' }))
}</li>`
}

function printSecret(secret: ClientSecret, isIdle: boolean): Html {
  const lastUse = secret.lastUsedAt ? printDate(secret.lastUsedAt) : 'never'
  return html`<br><span class="faint">Secret ending in
    <code>${secret.hint}</code>${isIdle && ', which counts no more'} · made ${printDate(secret.createdAt)} · last used
    ${lastUse}${
      secret.signsFrom > secret.createdAt &&
      html` · signs webhooks from
    ${printDate(secret.signsFrom)}`
    }${
      secret.expiresAt !== null &&
      html` · ends
    ${printDate(secret.expiresAt)}`
    }</span>`
}

function printKeys({ id }: Client, { keys, keySets }: ClientsPage): Html {
  const set = keySets.find(({ clientId }) => clientId === id)
  const own = keys.filter(({ clientId }) => clientId === id)
  return html`${own.map((key) => html`<br><span class="faint">Key ${printKey(key)} · ${printKeyUse(key)}</span>`)}${
    set && html`<br><span class="faint">Keys: ${printKeySet(set)}</span>`
  }`
}

function printRequest(
  { id: clientId, name }: Client,
  { id, scopes: wanted, reason, askedAt }: ScopeRequest,
  { operator, manages, offers }: ClientsPage,
) {
  const of = `${wanted.join(' ')} for ${name}`
  const act = { at: { client: clientId }, standing: { request: id }, of }
  const offer = { kind: 'partner.widen-scopes', subject: `client:${clientId}`, label: 'Grant' } as const
  const text = 'The partner can ask again.'
  return html`<p>${badge('wait', 'asks for more')} Asked for
    <strong>${wanted.join(' ')}</strong> ${printDate(askedAt)}: “${reason}”</p>
${
  manages &&
  html`<div class="acts">${printOffer(offers, operator, forms.grantScopes, { ...act, ...offer, buttonLook: 'primary' })}
${operator.forms.ask(forms.declineScopes, { ...act, label: 'Decline', text })}</div>`
}`
}

/** Setting the most answers a request that waits. */
function printMost({ id, name, scopesAtMost }: Client, { operator, offers }: ClientsPage): Html {
  const choices = scopes.map((scope) => ({ value: scope, label: scope }))
  const offer = {
    kind: 'partner.widen-scopes',
    subject: `client:${id}`,
    label: 'Set',
    of: `the scopes of ${name}`,
    at: { client: id },
    standing: { scope: scopesAtMost },
  } as const
  const more = (view: FormView<typeof forms.setScopes.fields>) => view.field('scope', { choices })
  return html`<details${
    operator.forms.holds(forms.setScopes, offer) && html` open`
  }><summary>Change allowed scopes<span class="unseen"> of ${name}</span></summary>
${printOffer(offers, operator, forms.setScopes, { ...offer, more })}</details>`
}

/** What an application of this kind is of no use without. */
function printRequired({ id, name, scopesAtMost, scopesRequired }: Client, { operator }: ClientsPage): Html {
  const choices = scopesAtMost.map((scope) => ({ value: scope, label: scope }))
  const options = { at: { client: id }, standing: { required: scopesRequired } }
  return html`<details${
    operator.forms.holds(forms.setRequired, options) && html` open`
  }><summary>Change required scopes<span class="unseen"> of ${name}</span></summary>
${operator.forms.print(
  forms.setRequired,
  options,
  (view) =>
    html`${view.field('required', { choices })}${view.button('Set', {
      of: `the required scopes of ${name}`,
    })}`,
)}</details>`
}

/** A partner's clients on its page, each with what an operator may decide about it. */
import type { Client } from '../../../partners/client.ts'
import type { ClientSecret } from '../../../partners/client-secret.ts'
import type { ScopeRequest } from '../../../partners/scope-request.ts'
import { scopes } from '../../../vocabulary/scope.ts'
import { askFirst } from '../../frame/ask.ts'
import { emptyDraft, ticks } from '../../frame/fields.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField, printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import { type Offers, printOffer } from '../frame/four-eyes.ts'

interface ClientsPage {
  readonly clients: readonly Client[]
  readonly secrets: readonly ClientSecret[]
  readonly requests: readonly ScopeRequest[]
  /** Where the forms go. */
  readonly home: string
  readonly csrf: string
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
  const { secrets, requests, home, csrf, manages } = page
  const isActive = client.status === 'active'
  const own = secrets.filter(({ clientId }) => clientId === client.id)
  const asked = requests.find(({ clientId }) => clientId === client.id)
  const at = `${home}/clients/${client.id}`
  return html`<li id="client-${client.id}"><div><strong>${client.name}</strong>
    ${badge(isActive ? 'good' : 'bad', client.status)} ${
      client.environment === 'sandbox' &&
      html`<span
    class="badge sandbox">Sandbox</span>`
    }<br>
<code>${client.id}</code><br><span class="faint">${client.callbackUrl} · asks for ${client.scopes.join(' ')} ·
  allowed: ${client.scopesAtMost.join(' ')} · registered ${printDate(client.createdAt)} ·
  <a href="${at}/look">consent page<span class="unseen"> of ${client.name}</span></a></span>
${own.length === 0 ? html`<br><span class="faint">No secret is active.</span>` : own.map(printSecret)}
${asked && printRequest(client, asked, at, page)}${manages && printMost(client, at, page)}</div>
${
  manages &&
  (isActive
    ? askToSuspend(client, at, csrf)
    : html`<form method="post"
  action="${at}/activate">${csrfField(csrf)}<button class="primary">Activate<span
  class="unseen"> ${client.name}</span></button></form>`)
}</li>`
}

function askToSuspend({ name }: Client, at: string, csrf: string): Html {
  const text = 'Its tokens are refused at once, until it is activated again.'
  return askFirst({ action: `${at}/suspend`, csrf, label: 'Suspend', of: name, text, why: true })
}

function printSecret(secret: ClientSecret): Html {
  const lastUse = secret.lastUsedAt ? printDate(secret.lastUsedAt) : 'never'
  return html`<br><span class="faint">Secret ending in
    <code>${secret.hint}</code> · made ${printDate(secret.createdAt)} · last used
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

function printRequest(
  { id: clientId, name }: Client,
  { id, scopes: wanted, reason, askedAt }: ScopeRequest,
  at: string,
  { csrf, manages, offers }: ClientsPage,
) {
  const of = `${wanted.join(' ')} for ${name}`
  const text = 'The partner can ask again.'
  return html`<p>${badge('wait', 'asks for more')} Asked for
    <strong>${wanted.join(' ')}</strong> ${printDate(askedAt)}: “${reason}”</p>
${
  manages &&
  html`<div class="acts">${printOffer(offers, { csrf }, { kind: 'partner.widen-scopes', subject: `client:${clientId}`, action: `${at}/scopes/grant`, fields: { request: id }, label: 'Grant', of, look: 'primary' })}
${askFirst({ action: `${at}/scopes/decline`, csrf, fields: { request: id }, label: 'Decline', of, text, why: true })}</div>`
}`
}

/** Setting the most answers a request that waits. */
function printMost({ id, name, scopesAtMost }: Client, at: string, { csrf, offers }: ClientsPage): Html {
  const choices = scopes.map((scope) => ({ value: scope, label: scope }))
  const field = { name: 'scope', label: 'It may ask for these, and the partner chooses among them' }
  const offer = {
    kind: 'partner.widen-scopes',
    subject: `client:${id}`,
    action: `${at}/scopes`,
    label: 'Set',
    of: `the scopes of ${name}`,
  } as const
  return html`<details><summary>Change allowed scopes<span class="unseen"> of ${name}</span></summary>
${printOffer(offers, { csrf }, { ...offer, more: ticks(emptyDraft, field, choices, scopesAtMost) })}</details>`
}

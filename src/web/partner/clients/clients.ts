/**
 * The partner's applications: what account holders are asked to approve, and the secrets that prove who
 * calls.
 */

import type { Sql } from '../../../database/database.ts'
import { profileOf } from '../../../oauth/profile.ts'
import { countUnmet } from '../../../partners/calls.ts'
import {
  type Client,
  getClient,
  listClients,
  registerClient,
  scopesOfNewClients,
  updateClient as update,
} from '../../../partners/client.ts'
import { listKeys } from '../../../partners/client-keys.ts'
import { hasFapi2, readReadiness } from '../../../partners/client-profile.ts'
import {
  listSecrets,
  revokeSecret as revoke,
  rotateSecret as rotate,
} from '../../../partners/client-secret.ts'
import { findKeySet } from '../../../partners/key-sets.ts'
import { askForFapi2, findProfileRequest } from '../../../partners/profile-request.ts'
import { askForRefresh, findRefreshRequest, type RefreshRequest } from '../../../partners/refresh-request.ts'
import { askForScopes, findScopeRequest } from '../../../partners/scope-request.ts'
import { Conflict, NotFound } from '../../../problem.ts'
import { isDevelopment } from '../../../settings/config.ts'
import type { Environment } from '../../../vocabulary/environment.ts'
import type { Scope } from '../../../vocabulary/scope.ts'
import { copyLine } from '../../frame/copy.ts'
import {
  type FlashMessage,
  ignoreAlreadyGone,
  leadToDone,
  printDone,
  type Undo,
} from '../../frame/flash-message.ts'
import type { Submission, ValuesOf } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, plain, printList, sendListFile, whole } from '../../frame/list.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { onLiveSite } from '../../frame/other-site.ts'
import { printDate } from '../../frame/page.ts'
import { badge, crumbs, facts } from '../../frame/parts.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import { type FreshMember, type Member, memberWatcher } from '../../gates/gates.ts'
import { profileBadge } from '../../parts/client-profile.ts'
import { sendPortal } from '../frame/portal.ts'
import { printAfterClient } from '../home/onboarding.ts'
import { printKeys } from './client-key-parts.ts'
import { printProfile } from './client-profile.ts'
import { printScopeRequest, registrationHint } from './client-scopes.ts'
import { printSecret, printSecrets } from './client-secrets.ts'
import * as forms from './forms.ts'

const doneWords = {
  'made-before':
    'This form was sent before, and registered this application. Its secret was shown once. If you did not copy it, make a new one below.',
  'secret-before':
    'This form was sent before, and made one secret, which was shown once. If you did not copy it, revoke it and make another.',
}

export async function createClient(
  visit: Visit,
  member: FreshMember,
  form: Submission<typeof forms.createClient>,
) {
  const { context } = visit
  const draft = readDraft(form.values)
  const make = (db: Sql) =>
    registerClient(db, context.vault, member.partner, context.environment, draft, acting(visit, member))
  const pathFor = ({ client }: { readonly client: Client }) => `${pathOf(member, client)}?done=made-before`
  const sent = await makeOnce(context, member, form, make, pathFor)
  if (sent.kind === 'before') return visit.reply.redirect(sent.path, 303)
  return sendClient(visit, member, sent.made.client, { secret: sent.made.secret.text, next: true })
}

export async function askRefresh(visit: Visit, member: Member, form: Submission<typeof forms.askRefresh>) {
  const make = (db: Sql) => askForRefresh(db, member.partner, form.values.reason.trim(), member.act)
  const path = `${member.home}/clients`
  await makeOnce(visit.context, member, form, make, () => path).catch(ignoreAskedAlready)
  return leadToDone(visit, member, path, askedOf(member))
}

/** A member who has asked already finds the question there. */
function ignoreAskedAlready(error: unknown): void {
  if (!(error instanceof Conflict)) throw error
}

export async function showClient(visit: Visit, member: Member) {
  return sendClient(visit, member, await clientOf(visit, member), {})
}

export async function updateClient(
  visit: Visit,
  member: FreshMember,
  { values }: Submission<typeof forms.updateClient>,
) {
  const client = await clientOf(visit, member)
  const here = pathOf(member, client)
  await update(visit.context.db, client, readDraft(values), acting(visit, member))
  return leadToDone(visit, member, here, { text: 'The client is saved.', undo: undoOf(here, client) })
}

export async function askScopes(visit: Visit, member: FreshMember, form: Submission<typeof forms.askScopes>) {
  const client = await clientOf(visit, member)
  const here = pathOf(member, client)
  const asked = { wider: form.values.wider.join(' '), reason: form.values.reason.trim() }
  const make = (db: Sql) => askForScopes(db, client, asked, member.act)
  await makeOnce(visit.context, member, form, make, () => here).catch(ignoreAskedAlready)
  return leadToDone(visit, member, here, askedOf(member))
}

export async function askFapi2(visit: Visit, member: FreshMember, form: Submission<typeof forms.askFapi2>) {
  const client = await clientOf(visit, member)
  const here = pathOf(member, client)
  const make = (db: Sql) => askForFapi2(db, client, form.values.wished, member.act)
  await makeOnce(visit.context, member, form, make, () => here).catch(ignoreAskedAlready)
  return leadToDone(visit, member, here, askedOf(member))
}

export async function rotateSecret(
  visit: Visit,
  member: FreshMember,
  form: Submission<typeof forms.rotateSecret>,
) {
  const { context } = visit
  const client = await clientOf(visit, member)
  const { overlap, switchAt } = form.values
  const rotation = { overlapMs: forms.overlaps[overlap].ms, switchAt }
  const make = (db: Sql) => rotate(db, context.vault, client, rotation, member.act)
  const path = `${pathOf(member, client)}?done=secret-before`
  const sent = await makeOnce(context, member, form, make, () => path).catch((error: unknown) => {
    throw error instanceof Conflict ? new Conflict(twoLive) : error
  })
  if (sent.kind === 'before') return visit.reply.redirect(sent.path, 303)
  return sendClient(visit, member, client, { secret: sent.made.secret.text })
}

const twoLive = 'Two secrets are active already. Revoke one of them first, then make a new one.'

/** A second click, or one that has ended meanwhile: the page then shows what is true. */
export async function revokeSecret(
  visit: Visit,
  member: Member,
  { values }: Submission<typeof forms.revokeSecret>,
) {
  const { db } = visit.context
  const client = await clientOf(visit, member)
  await revoke(db, client, values.secret, member.act).catch(ignoreAlreadyGone)
  return leadToDone(visit, member, pathOf(member, client), {
    text: 'The secret is revoked.',
    link: { path: `${member.home}/calls?failed=yes`, label: 'See whether calls fail now' },
  })
}

/** The client as it was. */
function undoOf(here: string, client: Client): Undo {
  const { rotate: isTicked, ...rest } = valuesOf(client)
  return { action: `${here}/update`, fields: { ...rest, ...(isTicked && { rotate: 'yes' }) } }
}

function askedOf({ home }: Member): FlashMessage {
  return { text: 'Request sent.', link: { path: `${home}/messages`, label: 'Messages' } }
}

function pathOf({ home }: Member, { id }: Client): string {
  return `${home}/clients/${id}`
}

export async function clientOf({ context, request }: Visit, { branch }: Member): Promise<Client> {
  const client = await getClient(context.db, paramsOf(request).client ?? '')
  if (client.branchId !== branch.branchId || client.environment !== branch.environment) throw new NotFound()
  return client
}

function acting({ context }: Visit, { act }: Member) {
  return { ...act, development: isDevelopment(context.config) }
}

function readDraft({ name, callback, scope, rotate: isTicked }: ClientValues) {
  return {
    name: name.trim(),
    callbackUrl: callback.trim(),
    scope: scope.join(' '),
    rotateRefreshTokens: isTicked,
  }
}

export async function showClients(visit: Visit, member: Member) {
  const { db, clock, environment } = visit.context
  const clients = (await listClients(db, member.partner.branchId)).filter(
    (each) => each.environment === environment,
  )
  const list = listOf(clients, member, clock.now())
  if (asksForFile(visit)) return sendListFile(visit, member, memberWatcher(visit, member), list)
  return sendPortal(visit, member, {
    title: 'Clients',
    section: '/clients',
    body: html`<h1>Clients</h1>
${clients.length > 0 && printFileLink(`${member.home}/clients`)}
${printList(list, clients)}
${member.isDeveloper && printRegistration(environment, member)}
${environment === 'live' ? printRefresh(await findRefreshRequest(db, member.partner), member) : printRefreshElsewhere(visit, member)}`,
  })
}

function printRegistration(environment: Environment, member: Member): Html {
  return html`<section class="card"><h2>Register an application</h2>
${member.forms.print(
  forms.createClient,
  { standing: { scope: [usualScope] } },
  (view) => html`${printClientFields(view, scopesOfNewClients[environment], registrationHint[environment])}
${view.button('Register', { look: 'primary' })}`,
)}</section>`
}

function listOf(clients: readonly Client[], { home }: Member, now: Date): List<Client> {
  return {
    name: 'clients',
    caption: 'Clients',
    empty: 'No application is registered here yet.',
    ...whole(clients),
    columns: [
      {
        name: 'Name',
        cell: ({ id, name }) => html`<a href="${home}/clients/${id}">${name}</a>`,
        text: ({ name }) => name,
      },
      { name: 'Client id', cell: ({ id }) => html`<code>${id}</code>`, text: ({ id }) => id },
      {
        name: 'State',
        cell: ({ status }) => badge(status === 'active' ? 'good' : 'bad', status),
        text: ({ status }) => status,
      },
      {
        name: 'Profile',
        cell: (client) => profileBadge(client, now),
        text: (client) => profileOf(client, now),
      },
      { ...plain('Callback', ({ callbackUrl }) => callbackUrl), look: 'url' },
      plain('Scopes', ({ scopes }) => scopes.join(' ')),
      { name: 'Registered (UTC)', text: ({ createdAt }) => createdAt },
    ],
  }
}

/** What nearly every application asks for, and nothing that changes anything. */
const usualScope: Scope = 'read'

type ClientFields = typeof forms.createClient.fields
type ClientValues = ValuesOf<ClientFields>

function printClientFields(view: FormView<ClientFields>, atMost: readonly Scope[], hint?: string): Html {
  const choices = atMost.map((scope) => ({ value: scope, label: scope }))
  return html`${view.field('name')}${view.field('callback')}
${view.field('scope', { choices, hint })}${view.field('rotate')}`
}

function printRefresh(asked: RefreshRequest | undefined, member: Member): Html {
  const { partner } = member
  const isOpen = asked !== undefined && asked.answeredAt === null
  const answer =
    asked?.answeredAt &&
    html`<p>Your request of ${printDate(asked.askedAt)} was ${asked.granted ? 'granted' : 'declined'} on
      ${printDate(asked.answeredAt)}.</p>`
  const form = () =>
    member.forms.print(
      forms.askRefresh,
      {},
      (view) => html`${view.field('reason')}${view.button('Ask for it')}`,
    )
  return html`<section class="card"><h2>Refresh access ${partner.refreshAccess ? badge('good', 'granted') : isOpen ? badge('wait', 'asked') : badge('off', 'none')}</h2>
<p>With it, applications renew their access without asking the account holder every 24 hours.</p>
${answer ?? undefined}${
  isOpen &&
  html`<p>You asked on ${printDate(asked.askedAt)}: “${asked.reason}”.
  The brokerage has not answered yet.</p>`
}
${!partner.refreshAccess && !isOpen && member.isDeveloper && form()}</section>`
}

/** It is asked for, and granted, for both sites at once. */
function printRefreshElsewhere({ context }: Visit, { partner, home, isDeveloper }: Member): Html {
  return html`<section class="card"><h2>Refresh access ${partner.refreshAccess ? badge('good', 'granted') : badge('off', 'none')}</h2>
<p>It is the same on both sites. ${
    !partner.refreshAccess &&
    isDeveloper &&
    html`Ask for it on the live one:
  <a href="${onLiveSite(context, `${home}/clients`)}">Clients</a>.`
  }</p></section>`
}

interface ClientPage {
  readonly secret?: string | undefined
  /** It was just registered: what can be done with it. */
  readonly next?: true
}

async function sendClient(visit: Visit, member: Member, client: Client, { secret, next }: ClientPage) {
  const { db, clock } = visit.context
  const now = clock.now()
  const secrets = await listSecrets(db, client.id, now)
  const profile = {
    now,
    readiness: (await readReadiness(db, [client], now)).get(client.id)!,
    asked: await findProfileRequest(db, client.id),
    unmet: await countUnmet(db, client, now),
  }
  const keys = { keys: await listKeys(db, client.id), set: await findKeySet(db, client.id), now }
  return sendPortal(visit, member, {
    title: client.name,
    section: '/clients',
    scripts: ['copy.js'],
    body: html`${crumbs([{ path: `${member.home}/clients`, label: 'Clients' }])}
<h1>${client.name} ${badge(client.status === 'active' ? 'good' : 'bad', client.status)}</h1>
${printDone(visit, doneWords)}
${secret !== undefined && printSecret(client, secret)}
${next && (await printAfterClient(visit, member))}
<section class="card">${facts([
      ['Client id', copyLine('the client id', client.id)],
      ['Environment', client.environment],
      ['Callback', !member.isDeveloper && client.callbackUrl],
      ['Scopes', !member.isDeveloper && client.scopes.join(' ')],
      ['Registered', printDate(client.createdAt)],
      ['Consent page', html`<a href="${member.home}/clients/${client.id}/look">Logo, links and purpose</a>`],
    ])}</section>
${!hasFapi2(client, now) && printSecrets(client, secrets, member, now)}
${printKeys(client, keys, member)}
${printProfile(client, profile, member)}
${printScopeRequest(client, await findScopeRequest(db, client.id), member)}
${member.isDeveloper && printChangeForm(client, member)}`,
  })
}

function printChangeForm(client: Client, member: Member): Html {
  return html`<section class="card" id="change"><h2>Change</h2>
${member.forms.print(
  forms.updateClient,
  { at: { client: client.id }, standing: valuesOf(client) },
  (view) => html`${printClientFields(view, client.scopesAtMost)}${view.button('Save', { look: 'primary' })}`,
)}</section>`
}

function valuesOf({ name, callbackUrl, scopes, rotateRefreshTokens }: Client): ClientValues {
  return { name, callback: callbackUrl, scope: scopes, rotate: rotateRefreshTokens }
}

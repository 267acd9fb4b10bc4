/**
 * The partner's applications: what account holders are asked to approve, and the secrets that prove who
 * calls.
 */

import type { Token } from '../../../crypto/token.ts'
import type { Sql } from '../../../database/database.ts'
import {
  type Client,
  getClient,
  listClients,
  registerClient,
  scopesOfNewClients,
  updateClient as update,
} from '../../../partners/client.ts'
import {
  listSecrets,
  revokeSecret as revoke,
  rotateSecret as rotate,
} from '../../../partners/client-secret.ts'
import { askForRefresh, findRefreshRequest, type RefreshRequest } from '../../../partners/refresh-request.ts'
import { askForScopes, findScopeRequest } from '../../../partners/scope-request.ts'
import { Conflict, Invalid, NotFound, type Problem } from '../../../problem.ts'
import { isDevelopment } from '../../../settings/config.ts'
import type { Environment } from '../../../vocabulary/environment.ts'
import type { Scope } from '../../../vocabulary/scope.ts'
import { copyLine } from '../../frame/copy.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import {
  type Draft,
  emptyDraft,
  findProblem,
  formNotice,
  longField,
  textField,
  ticks,
} from '../../frame/fields.ts'
import { type FlashMessage, leadToDone, printDone, type Undo } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { parseMoment } from '../../frame/moment.ts'
import { onLiveSite } from '../../frame/other-site.ts'
import { csrfField, notice, printDate } from '../../frame/page.ts'
import { badge, crumbs, facts, table } from '../../frame/parts.ts'
import { makeOnce, onceField, type SubmissionResult } from '../../frame/submission.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import type { FreshMember, Member } from '../../gates/gates.ts'
import { sendPortal } from '../frame/portal.ts'
import { printAfterClient } from '../home/onboarding.ts'
import { printScopeRequest, registrationHint } from './client-scopes.ts'
import { overlaps, printSecret, printSecrets } from './client-secrets.ts'

const doneWords = {
  'made-before':
    'This form was sent before, and registered this application. Its secret was shown once. If you did not copy it, make a new one below.',
  'secret-before':
    'This form was sent before, and made one secret, which was shown once. If you did not copy it, revoke it and make another.',
}

export function showClients(visit: Visit, member: Member) {
  return sendClients(visit, member, emptyDraft, emptyDraft)
}

export async function createClient(visit: Visit, member: FreshMember, form: SubmittedForm) {
  const { context } = visit
  const draft = readDraft(form)
  const make = (db: Sql) =>
    registerClient(db, context.vault, member.partner, context.environment, draft, acting(visit, member))
  let sent: SubmissionResult<{ client: Client; secret: Token }> | undefined
  const problem = await findProblem(async () => {
    sent = await makeOnce(
      context,
      member,
      form,
      make,
      ({ client }) => `${pathOf(member, client)}?done=made-before`,
    )
  })
  if (problem) return sendClients(visit, member, { values: asValues(draft), problem }, emptyDraft)
  if (sent!.kind === 'before') return visit.reply.redirect(sent!.path, 303)
  return sendClient(visit, member, sent!.made.client, { secret: sent!.made.secret.text, next: true })
}

export async function askRefresh(visit: Visit, member: Member, form: SubmittedForm) {
  const reason = form.find('reason')?.trim() ?? ''
  const make = (db: Sql) => askForRefresh(db, member.partner, reason, member.act)
  const problem = await findProblem(() =>
    makeOnce(visit.context, member, form, make, () => `${member.home}/clients`),
  )
  if (problem instanceof Invalid)
    return sendClients(visit, member, emptyDraft, { values: { reason }, problem })
  return leadToDone(visit, member, `${member.home}/clients`, askedOf(member))
}

export async function showClient(visit: Visit, member: Member) {
  return sendClient(visit, member, await clientOf(visit, member), {})
}

export async function updateClient(visit: Visit, member: FreshMember, form: SubmittedForm) {
  const { db } = visit.context
  const client = await clientOf(visit, member)
  const here = `${member.home}/clients/${client.id}`
  const draft = readDraft(form)
  const problem = await findProblem(() => update(db, client, draft, acting(visit, member)))
  if (problem) {
    const current = await clientOf(visit, member)
    return sendClient(visit, member, current, { draft: { values: asValues(draft), problem } })
  }
  return leadToDone(visit, member, here, { text: 'The client is saved.', undo: undoOf(here, client) })
}

export async function askScopes(visit: Visit, member: FreshMember, form: SubmittedForm) {
  const client = await clientOf(visit, member)
  const here = `${member.home}/clients/${client.id}`
  const values = { wider: form.all('wider').join(' '), reason: form.find('reason')?.trim() ?? '' }
  const make = (db: Sql) => askForScopes(db, client, values, member.act)
  const problem = await findProblem(() => makeOnce(visit.context, member, form, make, () => here))
  if (problem instanceof Invalid) return sendClient(visit, member, client, { asking: { values, problem } })
  if (problem && !(problem instanceof Conflict)) throw problem
  // A member who has asked already finds the question there.
  return leadToDone(visit, member, here, askedOf(member))
}

export async function rotateSecret(visit: Visit, member: FreshMember, form: SubmittedForm) {
  const { context } = visit
  const client = await clientOf(visit, member)
  const here = pathOf(member, client)
  const overlap = overlaps.get(form.find('overlap') ?? '')
  if (!overlap) throw new Invalid([{ field: 'overlap', problem: 'is none of the choices' }])
  const rotation = { overlapMs: overlap.ms, switchAt: readSwitch(form) }
  const make = (db: Sql) => rotate(db, context.vault, client, rotation, member.act)
  let sent: SubmissionResult<{ secret: Token }> | undefined
  const problem = await findProblem(async () => {
    sent = await makeOnce(context, member, form, make, () => `${here}?done=secret-before`)
  })
  if (problem instanceof Invalid) {
    const values = { overlap: form.find('overlap'), switchAt: form.find('switchAt') }
    return sendClient(visit, member, client, { rotation: { values, problem } })
  }
  if (problem) return sendClient(visit, member, client, { problem: new Conflict(twoLive) })
  if (sent!.kind === 'before') return visit.reply.redirect(sent!.path, 303)
  return sendClient(visit, member, client, { secret: sent!.made.secret.text })
}

/** What is no moment is a moment that cannot be. */
function readSwitch(form: SubmittedForm): Date | undefined {
  const switchAt = parseMoment(form.find('switchAt'))
  return switchAt === 'wrong' ? new Date(0) : switchAt
}

const twoLive = 'Two secrets are active already. Revoke one of them first, then make a new one.'

/** A second click, or one that has ended meanwhile: the page then shows what is true. */
export async function revokeSecret(visit: Visit, member: Member, form: SubmittedForm) {
  const { db } = visit.context
  const client = await clientOf(visit, member)
  await revoke(db, client, idOf(form.find('secret')), member.act).catch((error: unknown) => {
    if (!(error instanceof NotFound)) throw error
  })
  return leadToDone(visit, member, pathOf(member, client), {
    text: 'The secret is revoked.',
    link: { path: `${member.home}/refusals`, label: 'See whether calls fail now' },
  })
}

/** The client as it was. */
function undoOf(here: string, client: Client): Undo {
  const { scope, rotate, ...rest } = valuesOf(client)
  const ticked = rotate === 'yes' ? { rotate } : {}
  return { action: `${here}/update`, fields: { ...rest, ...ticked, scope: scope?.split(' ') ?? [] } }
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

function readDraft(form: SubmittedForm) {
  return {
    name: form.find('name')?.trim() ?? '',
    callbackUrl: form.find('callback')?.trim() ?? '',
    scope: form.all('scope').join(' '),
    rotateRefreshTokens: form.find('rotate') === 'yes',
  }
}

function asValues({
  name,
  callbackUrl,
  scope,
  rotateRefreshTokens,
}: ReturnType<typeof readDraft>): Draft['values'] {
  return { name, callback: callbackUrl, scope, rotate: rotateRefreshTokens ? 'yes' : '' }
}

async function sendClients(visit: Visit, member: Member, draft: Draft, asking: Draft) {
  const { db, environment } = visit.context
  const clients = (await listClients(db, member.partner.branchId)).filter(
    (each) => each.environment === environment,
  )
  const problem: Problem | undefined = draft.problem ?? asking.problem
  return sendPortal(visit, member, {
    title: 'Clients',
    section: '/clients',
    status: problem?.status ?? 200,
    body: html`<h1>Clients</h1>
${
  clients.length === 0
    ? html`<p class="card empty">No application is registered here
  yet.</p>`
    : printList(clients, member)
}
${member.isDeveloper && printRegistration(draft, environment, member)}
${environment === 'live' ? printRefresh(await findRefreshRequest(db, member.partner), asking, member) : printRefreshElsewhere(visit, member)}`,
  })
}

function printRegistration(draft: Draft, environment: Environment, { home, csrf }: Member): Html {
  return html`<section class="card"><h2>Register an application</h2>
${formNotice(draft, 'name', 'callback', 'scope')}
<form method="post" action="${home}/clients/create">${csrfField(csrf)}${onceField()}
${printDraftFields(draft, scopesOfNewClients[environment], registrationHint[environment])}
<button class="primary">Register</button></form></section>`
}

function printList(clients: readonly Client[], { home }: Member): Html {
  const rows = clients.map(
    (
      each,
    ) => html`<tr><td><a href="${home}/clients/${each.id}">${each.name}</a></td><td><code>${each.id}</code></td>
<td>${badge(each.status === 'active' ? 'good' : 'bad', each.status)}</td><td
  class="url">${each.callbackUrl}</td><td>${each.scopes.join(' ')}</td></tr>`,
  )
  return table('Clients', ['Name', 'Client id', 'State', 'Callback', 'Scopes'], rows)
}

/** What nearly every application asks for, and nothing that changes anything. */
const usualScope: Scope = 'read'

function printDraftFields(draft: Draft, atMost: readonly Scope[], hint?: string): Html {
  const choices = atMost.map((scope) => ({ value: scope, label: scope }))
  const { values } = draft
  return html`${textField(draft, { name: 'name', label: 'Name', hint: 'Account holders see it when they are asked for access.', more: html`required maxlength="${fieldLengths['/partner/:branch/clients/create'].name}"` })}
${textField(draft, { name: 'callback', label: 'Callback', hint: 'Where codes are sent. Compared character by character.', more: html`type="url" required maxlength="${fieldLengths['/partner/:branch/clients/create'].callback}" placeholder="https://app.example.com/callback" spellcheck="false"` })}
${ticks(draft, { name: 'scope', label: 'Scopes it may ask for', hint }, choices, (values.scope ?? usualScope).split(' '))}
<label class="tick"><input type="checkbox" name="rotate" value="yes"${
    values.rotate === 'yes' &&
    html`
  checked`
  }><span>Replace the refresh token at each use</span></label>`
}

function printRefresh(asked: RefreshRequest | undefined, draft: Draft, member: Member): Html {
  const { partner, home, csrf } = member
  const isOpen = asked !== undefined && asked.answeredAt === null
  const answer =
    asked?.answeredAt &&
    html`<p>Your request of ${printDate(asked.askedAt)} was ${asked.granted ? 'granted' : 'declined'} on
      ${printDate(asked.answeredAt)}.</p>`
  const form = html`<form method="post" action="${home}/clients/refresh">${csrfField(csrf)}${onceField()}
${longField(draft, {
  name: 'reason',
  label: 'Why your applications need it',
  more: html`required
  maxlength="${fieldLengths['/partner/:branch/clients/refresh'].reason}"`,
})}
<button>Ask for it</button></form>`
  return html`<section class="card"><h2>Refresh access ${partner.refreshAccess ? badge('good', 'granted') : isOpen ? badge('wait', 'asked') : badge('off', 'none')}</h2>
<p>With it, applications renew their access without asking the account holder every 24 hours.</p>
${answer ?? undefined}${
  isOpen &&
  html`<p>You asked on ${printDate(asked.askedAt)}: “${asked.reason}”.
  The brokerage has not answered yet.</p>`
}
${!partner.refreshAccess && !isOpen && member.isDeveloper && form}</section>`
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
  readonly draft?: Draft
  readonly rotation?: Draft
  readonly asking?: Draft
  readonly problem?: Problem
}

async function sendClient(visit: Visit, member: Member, client: Client, page: ClientPage) {
  const { secret, problem, draft = emptyDraft, asking = emptyDraft, rotation = emptyDraft } = page
  const { db, clock } = visit.context
  const secrets = await listSecrets(db, client.id, clock.now())
  return sendPortal(visit, member, {
    title: client.name,
    section: '/clients',
    scripts: ['copy.js'],
    status: (problem ?? draft.problem ?? asking.problem ?? rotation.problem)?.status ?? 200,
    body: html`${crumbs([{ path: `${member.home}/clients`, label: 'Clients' }])}
<h1>${client.name} ${badge(client.status === 'active' ? 'good' : 'bad', client.status)}</h1>
${printDone(visit.request, doneWords)}
${secret !== undefined && printSecret(client, secret)}
${page.next && (await printAfterClient(visit, member))}
${problem && notice('error', problem.message)}
<section class="card">${facts([
      ['Client id', copyLine('the client id', client.id)],
      ['Environment', client.environment],
      ['Callback', !member.isDeveloper && client.callbackUrl],
      ['Scopes', !member.isDeveloper && client.scopes.join(' ')],
      ['Registered', printDate(client.createdAt)],
      ['Consent page', html`<a href="${member.home}/clients/${client.id}/look">Logo, links and purpose</a>`],
    ])}</section>
${printSecrets(client, secrets, rotation, member, clock.now())}
${printScopeRequest(client, await findScopeRequest(db, client.id), asking, member)}
${member.isDeveloper && printChangeForm(client, draft, member)}`,
  })
}

function printChangeForm(client: Client, draft: Draft, { home, csrf }: Member): Html {
  return html`<section class="card"><h2>Change</h2>${formNotice(draft, 'name', 'callback', 'scope')}
<form method="post" action="${home}/clients/${client.id}/update">${csrfField(csrf)}
${printDraftFields({ ...draft, values: { ...valuesOf(client), ...draft.values } }, client.scopesAtMost)}
<button class="primary">Save</button></form></section>`
}

function valuesOf({ name, callbackUrl, scopes: granted, rotateRefreshTokens }: Client): Draft['values'] {
  return { name, callback: callbackUrl, scope: granted.join(' '), rotate: rotateRefreshTokens ? 'yes' : '' }
}

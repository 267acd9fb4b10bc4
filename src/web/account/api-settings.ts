/** API settings: the tokens that account holders make for their own programs (Spec 5.1). */
import type { Context } from '../../context.ts'
import type { Sql } from '../../database/database.ts'
import { Invalid, Problem } from '../../problem.ts'
import {
  type ApiToken,
  createApiToken,
  listApiTokens,
  revokeApiToken,
  tokensPerUser,
} from '../../users/api-token.ts'
import { type Environment, environments } from '../../vocabulary/environment.ts'
import { askFirst } from '../frame/ask.ts'
import { fieldLengths } from '../frame/field-lengths.ts'
import { ignoreAlreadyGone, leadToDone, printDone } from '../frame/flash-message.ts'
import type { SubmittedForm } from '../frame/forms.ts'
import { type Html, html } from '../frame/html.ts'
import { onLiveSite } from '../frame/other-site.ts'
import { csrfField, notice, printDate } from '../frame/page.ts'
import { makeOnce, onceField } from '../frame/submission.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import type { StrongUserSession } from '../gates/gates.ts'
import { parseId, sendAccountPage } from './account-page.ts'

const doneWords = {
  before:
    'This form was sent before. The token that it made is listed below and was shown once. If you did not copy it, revoke it and make another.',
}

export async function showApiSettings(visit: Visit, visitor: UserSession) {
  return sendApiSettings(visit, visitor, { done: printDone(visit.request, doneWords) })
}

export async function createToken(visit: Visit, visitor: StrongUserSession, form: SubmittedForm) {
  const { context, reply } = visit
  const name = form.find('name') ?? ''
  const environment = kindsOf(context).find((kind) => kind === form.find('environment'))
  if (!environment)
    throw new Invalid([{ field: 'environment', problem: `must be ${kindsOf(context).join(' or ')}` }])
  try {
    const make = (db: Sql) => createApiToken(db, visitor.session.user, { environment, name }, visitor.act)
    const sent = await makeOnce(context, visitor, form, make, () => '/account/api?done=before')
    if (sent.kind === 'before') return reply.redirect(sent.path, 303)
    return sendApiSettings(visit, visitor, { created: { text: sent.made.token.text, environment } })
  } catch (error) {
    if (error instanceof Problem && error.status < 500)
      return sendApiSettings(visit, visitor, { problem: error, name })
    throw error
  }
}

export async function revokeToken(visit: Visit, visitor: UserSession, form: SubmittedForm) {
  const { context, reply } = visit
  const id = parseId(form.find('token'), 'token')
  const token = (await listTokens(context, visitor)).find((each) => each.id === id)
  if (!token) return reply.redirect('/account/api', 303)
  await revokeApiToken(context.db, id, visitor.session.user.id, visitor.act).catch(ignoreAlreadyGone)
  return leadToDone(visit, visitor, '/account/api', {
    text: `The token “${token.name}” is revoked.`,
    link: { path: '/account/history', label: 'See your history' },
  })
}

interface ApiSettings {
  readonly done?: Html | undefined
  readonly created?: { readonly text: string; readonly environment: Environment }
  readonly problem?: Problem
  readonly name?: string
}

/** The live site has the tokens of both; the sandbox has no live ones to make, to show or to revoke. */
function kindsOf({ environment }: Context): readonly Environment[] {
  return environment === 'live' ? environments : [environment]
}

async function listTokens(context: Context, { session }: UserSession): Promise<ApiToken[]> {
  return ofThisSite(context, await listApiTokens(context.db, session.user.id))
}

function ofThisSite(context: Context, all: readonly ApiToken[]): ApiToken[] {
  return all.filter(({ environment }) => kindsOf(context).includes(environment))
}

const kindWords = { live: 'Personal API token', sandbox: 'Sandbox token' } as const

async function sendApiSettings(
  visit: Visit,
  visitor: UserSession,
  { done, created, problem, name = '' }: ApiSettings,
) {
  const { context } = visit
  const all = await listApiTokens(context.db, visitor.session.user.id)
  const tokens = ofThisSite(context, all)
  const { baseUrl, sisterUrl, environment } = context
  const urls =
    environment === 'live' ? { live: baseUrl, sandbox: sisterUrl } : { live: sisterUrl, sandbox: baseUrl }
  return sendAccountPage(visit, visitor, {
    title: 'API settings',
    here: '/account/api',
    status: problem?.status ?? 200,
    body: html`<h1>API settings</h1>
<p>For your own programs. A token acts as you, with every scope, until you revoke it.</p>
${done}${created && printCreated(created, urls[created.environment])}
<section class="card">
<h2>New token</h2>
${problem && notice('error', problem.message)}
${
  all.length < tokensPerUser
    ? printForm(context, visitor, name)
    : html`<p class="empty">You have
  ${tokensPerUser} tokens, as many as there may be. Revoke one that you no longer need.</p>`
}
${
  environment === 'sandbox' &&
  html`<p class="small">A token made here works in the sandbox.
  Personal API tokens for the live site are made there:
  <a href="${onLiveSite(context, '/account/api')}">API settings</a>.</p>`
}
</section>
<section class="card">
<h2>Your tokens</h2>
${
  tokens.length === 0
    ? html`<p class="empty">You have no tokens.</p>`
    : html`<ul
  class="tokens">${tokens.map((token) => printToken(token, visitor))}</ul>`
}
</section>`,
  })
}

function printForm(context: Context, { csrf }: UserSession, name: string): Html {
  return html`<form method="post" action="/account/api/tokens" class="row">
${csrfField(csrf)}${onceField()}
<label>Name<input name="name" value="${name}" required maxlength="${fieldLengths['/account/api/tokens'].name}"
  placeholder="What it is for"></label>
${printKinds(context)}
<button class="primary">Create</button>
</form>`
}

function printKinds({ environment }: Context): Html {
  if (environment === 'sandbox') return html`<input type="hidden" name="environment" value="sandbox">`
  return html`<label>Kind<select name="environment"><option
    value="live">Personal API token (live)</option><option
    value="sandbox">Sandbox token</option></select></label>`
}

function printCreated({ text, environment }: NonNullable<ApiSettings['created']>, url: string): Html {
  return html`<section class="card created" role="status">
<h2>${kindWords[environment]} created</h2>
<p>Copy it now. It is not shown again.</p>
<p><code class="secret">${text}</code></p>
<p class="small">Try it: <code>curl -H "Authorization: Bearer ${text.slice(0, 8)}…" ${url}/v1/user/profile</code></p>
</section>`
}

function printToken(token: ApiToken, { csrf }: UserSession): Html {
  return html`<li>
<div><strong>${token.name}</strong>
  <span class="badge ${token.environment}">${kindWords[token.environment]}</span><br>
<span class="faint">ends in
  <code>${token.hint}</code> · created ${printDate(token.createdAt)} · last used
  ${token.lastUsedAt ? printDate(token.lastUsedAt) : 'never'}</span></div>
${askFirst({
  ...{ action: '/account/api/revoke', csrf, fields: { token: token.id }, of: token.name },
  ...{ label: 'Revoke', text: 'Programs that use it are refused from their next request on.' },
})}
</li>`
}

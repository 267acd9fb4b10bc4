/** The account holder's pages: who may use the account, and the tokens for their own programs. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { type Environment, isEnvironment } from '../environment.ts'
import { type Authorization, listAuthorizations, revokeAuthorization } from '../oauth/authorization.ts'
import { Invalid, Problem } from '../problem.ts'
import { scopes } from '../scope.ts'
import { type ApiToken, createApiToken, listApiTokens, revokeApiToken } from '../users/api-token.ts'
import { isFresh } from '../users/session.ts'
import { type Html, html } from './html.ts'
import { csrfField, notice, printDate, sendPage } from './page.ts'
import { scopeWords } from './scope-words.ts'
import { readSignedForm, requireSignIn, type SignedIn } from './visitor.ts'

export async function showApplications(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireSignIn(context, request, reply, '/account')
  if (!visitor) return reply
  const all = await listAuthorizations(context.db, { userId: visitor.session.user.id })
  const applications = all.filter((each) => each.environment === context.environment)
  return sendPage(reply, {
    title: 'Connected applications',
    environment: context.environment,
    account: { ...accountBar(visitor), here: '/account' },
    body: html`<h1>Connected applications</h1>
<p>These applications may use your account. Revoking one takes effect at once.</p>
${applications.length === 0 && html`<p class="card empty">No application is connected to your account.</p>`}
${applications.map((each) => printApplication(each, visitor))}`,
  })
}

export async function revokeApplication(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireSignIn(context, request, reply, '/account')
  if (!visitor) return reply
  const form = readSignedForm(request, visitor)
  const id = parseId(form.find('authorization'), 'authorization')
  const revoked = { id, ownerId: visitor.session.user.id, reason: 'revoked by the user' }
  await revokeAuthorization(context.db, context.changes, revoked, visitor.by, context.clock.now()).catch(
    ignoreAlreadyGone,
  )
  return reply.redirect('/account', 303)
}

export async function showApiSettings(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireSignIn(context, request, reply, '/account/api')
  return visitor ? sendApiSettings(context, reply, visitor, {}) : reply
}

export async function createToken(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireSignIn(context, request, reply, '/account/api')
  if (!visitor) return reply
  const form = readSignedForm(request, visitor)
  const now = context.clock.now()
  if (!isFresh(visitor.session, now)) return reply.redirect('/login?return=/account/api&confirm=1', 303)
  const name = form.find('name') ?? ''
  const environment = form.find('environment') ?? ''
  if (!isEnvironment(environment)) throw new Invalid([{ field: 'environment', problem: 'must be live or sandbox' }])
  try {
    const { token } = await createApiToken(context.db, visitor.session.user, { environment, name }, visitor.by, now)
    return sendApiSettings(context, reply, visitor, { created: { text: token.text, environment } })
  } catch (error) {
    if (error instanceof Problem && error.status < 500)
      return sendApiSettings(context, reply, visitor, { problem: error, name })
    throw error
  }
}

export async function revokeToken(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireSignIn(context, request, reply, '/account/api')
  if (!visitor) return reply
  const form = readSignedForm(request, visitor)
  const id = parseId(form.find('token'), 'token')
  await revokeApiToken(context.db, id, visitor.session.user.id, visitor.by, context.clock.now()).catch(
    ignoreAlreadyGone,
  )
  context.changes.announce(`api_token:${id}`)
  return reply.redirect('/account/api', 303)
}

function accountBar({ session, csrf }: SignedIn) {
  return { user: session.user, csrf }
}

function parseId(text: string | undefined, field: string): number {
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw new Invalid([{ field, problem: 'must be a number' }])
  return Number(text)
}

/** A second click, or somebody else's id: either way the page then shows what is true. */
function ignoreAlreadyGone(error: unknown): void {
  if (!(error instanceof Problem && error.status === 404)) throw error
}

function printApplication(each: Authorization, { csrf }: SignedIn): Html {
  const granted = scopes.filter((scope) => each.scopes.includes(scope))
  const paused = each.client_status !== 'active' || each.partner_status !== 'approved'
  return html`<article class="card application">
<h2>${each.client_name} <span class="faint">by ${each.partner_name}</span></h2>
${paused && html`<p class="notice error">The brokerage has suspended this application; it has no access at present.</p>`}
<ul class="scopes">${granted.map((scope) => html`<li${scopeWords[scope].movesMoney && html` class="money"`}><strong>${scopeWords[scope].title}</strong> ${scopeWords[scope].movesMoney && html`<span class="badge">moves money</span>`}<br>${scopeWords[scope].text}</li>`)}</ul>
<dl>
<dt>Connected since</dt><dd>${printDate(each.approved_at)}</dd>
<dt>Last used</dt><dd>${each.last_used_at ? printDate(each.last_used_at) : 'never'}</dd>
<dt>Access</dt><dd>${each.lasting ? 'until you revoke it' : '24 hours after each approval'}</dd>
<dt>Accounts</dt><dd>${each.account_numbers.length > 0 ? each.account_numbers.join(', ') : 'none'}</dd>
</dl>
<form method="post" action="/account/revoke">${csrfField(csrf)}<input type="hidden" name="authorization" value="${each.id}"><button class="danger">Revoke access</button></form>
</article>`
}

interface ApiSettings {
  readonly created?: { readonly text: string; readonly environment: Environment }
  readonly problem?: Problem
  readonly name?: string
}

const kindWords = { live: 'Personal API token', sandbox: 'Sandbox token' } as const

async function sendApiSettings(
  context: Context,
  reply: FastifyReply,
  visitor: SignedIn,
  { created, problem, name = '' }: ApiSettings,
) {
  const tokens = await listApiTokens(context.db, visitor.session.user.id)
  const { baseUrl, sisterUrl, environment } = context
  const urls = environment === 'live' ? { live: baseUrl, sandbox: sisterUrl } : { live: sisterUrl, sandbox: baseUrl }
  return sendPage(reply, {
    title: 'API settings',
    environment,
    account: { ...accountBar(visitor), here: '/account/api' },
    status: problem?.status ?? 200,
    body: html`<h1>API settings</h1>
<p>For your own programs. A token acts as you, with every scope, until you revoke it.</p>
${created && printCreated(created, urls[created.environment])}
<section class="card">
<h2>New token</h2>
${problem && notice('error', problem.message)}
<form method="post" action="/account/api/tokens" class="row">
${csrfField(visitor.csrf)}
<label>Name<input name="name" value="${name}" required maxlength="100" placeholder="What it is for"></label>
<label>Kind<select name="environment"><option value="live">Personal API token (live)</option><option value="sandbox"${environment === 'sandbox' && html` selected`}>Sandbox token</option></select></label>
<button class="primary">Create</button>
</form>
</section>
<section class="card">
<h2>Your tokens</h2>
${tokens.length === 0 ? html`<p class="empty">You have no tokens.</p>` : html`<ul class="tokens">${tokens.map((token) => printToken(token, visitor))}</ul>`}
</section>`,
  })
}

function printCreated({ text, environment }: NonNullable<ApiSettings['created']>, url: string): Html {
  return html`<section class="card created" role="status">
<h2>${kindWords[environment]} created</h2>
<p>Copy it now. It is not shown again.</p>
<p><code class="secret">${text}</code></p>
<p class="small">Try it: <code>curl -H "Authorization: Bearer ${text.slice(0, 8)}…" ${url}/v1/user/profile</code></p>
</section>`
}

function printToken(token: ApiToken, { csrf }: SignedIn): Html {
  return html`<li>
<div><strong>${token.name}</strong> <span class="badge ${token.environment}">${kindWords[token.environment]}</span><br>
<span class="faint">ends in <code>${token.hint}</code> · created ${printDate(token.created_at)} · last used ${token.last_used_at ? printDate(token.last_used_at) : 'never'}</span></div>
<form method="post" action="/account/api/revoke">${csrfField(csrf)}<input type="hidden" name="token" value="${token.id}"><button class="danger">Revoke</button></form>
</li>`
}

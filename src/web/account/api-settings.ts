/** API settings: the tokens that account holders make for their own programs (Spec 5.1). */
import { after, day } from '../../clock.ts'
import type { Context } from '../../context.ts'
import type { Sql } from '../../database/database.ts'
import { Invalid } from '../../problem.ts'
import {
  type ApiToken,
  createApiToken,
  hasEnded,
  listApiTokens,
  revokeApiToken,
  tokensPerUser,
} from '../../users/api-token.ts'
import { type Environment, environments } from '../../vocabulary/environment.ts'
import { covers, scopes } from '../../vocabulary/scope.ts'
import { scopeWords } from '../../vocabulary/scope-words.ts'
import { copyBlock, copySecret } from '../frame/copy.ts'
import { ignoreAlreadyGone, leadToDone, printDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import { makeOnce } from '../frame/make-once.ts'
import { onLiveSite } from '../frame/other-site.ts'
import { printDate } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import type { StrongUserSession } from '../gates/gates.ts'
import { sendAccountPage } from './account-page.ts'
import * as forms from './forms.ts'

const doneWords = {
  before:
    'This form was sent before. The token that it made is listed below and was shown once. If you did not copy it, revoke it and make another.',
}

export async function showApiSettings(visit: Visit, visitor: UserSession) {
  return sendApiSettings(visit, visitor, { done: printDone(visit, doneWords) })
}

export async function createToken(
  visit: Visit,
  visitor: StrongUserSession,
  form: Submission<typeof forms.createToken>,
) {
  const { context, reply } = visit
  const { name, environment, only, days } = form.values
  if (!kindsOf(context).includes(environment))
    throw new Invalid([{ field: 'environment', problem: `must be ${kindsOf(context).join(' or ')}` }])
  const { user } = visitor.session
  const expiresAt = days === '' ? undefined : after(visitor.act.at, Number(days) * day)
  const draft = { environment, name, expiresAt, ...(only.length > 0 && { scopes: only }) }
  const make = (db: Sql) => createApiToken(db, user, draft, visitor.act)
  const sent = await makeOnce(context, visitor, form, make, () => '/account/api?done=before')
  if (sent.kind === 'before') return reply.redirect(sent.path, 303)
  return sendApiSettings(visit, visitor, { created: { ...sent.made.record, text: sent.made.token.text } })
}

export async function revokeToken(
  visit: Visit,
  visitor: UserSession,
  { values: { token: id } }: Submission<typeof forms.revokeToken>,
) {
  const { context, reply } = visit
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
  readonly created?: ApiToken & { readonly text: string }
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

async function sendApiSettings(visit: Visit, visitor: UserSession, { done, created }: ApiSettings) {
  const { context } = visit
  const all = await listApiTokens(context.db, visitor.session.user.id)
  const tokens = ofThisSite(context, all)
  const { baseUrl, sisterUrl, environment } = context
  const urls =
    environment === 'live' ? { live: baseUrl, sandbox: sisterUrl } : { live: sisterUrl, sandbox: baseUrl }
  return sendAccountPage(visit, visitor, {
    title: 'API settings',
    here: '/account/api',
    scripts: ['copy.js'],
    body: html`<h1>API settings</h1>
<p>For your own programs. A token acts as you, in everything unless you choose less.</p>
${done}${created && printCreated(created, urls[created.environment])}
<section class="card">
<h2>New token</h2>
${
  all.filter((each) => !hasEnded(each, visitor.act.at)).length < tokensPerUser
    ? printForm(context, visitor)
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

function printForm({ environment }: Context, visitor: UserSession): Html {
  const standing = { environment }
  return visitor.forms.print(
    forms.createToken,
    { standing },
    (view) => html`${view.field('name')}
${environment === 'live' ? view.field('environment') : view.hidden('environment')}
${view.field('only')}${view.field('days')}
${view.button('Create', { look: 'primary' })}`,
  )
}

function printCreated(created: NonNullable<ApiSettings['created']>, url: string): Html {
  const { text, environment } = created
  const command = `curl -H "Authorization: Bearer ${text}" ${url}/v1/user/profile`
  return html`<section class="card created" role="status">
<h2>${kindWords[environment]} created</h2>
<p>Copy it now. It is not shown again.</p>
${copySecret('the token', text)}
<p>It may: ${mayWords(created)}. It ends ${endWords(created)}.</p>
${
  created.scopes.includes('read') &&
  html`<p>Try it on the command line:</p>${copyBlock('the command', command)}`
}
</section>`
}

function mayWords({ scopes: chosen }: ApiToken): string {
  if (covers(chosen, scopes)) return 'everything that you may'
  return chosen.map((scope) => `${scopeWords[scope].title} (${scope})`).join(', ')
}

function endWords({ expiresAt }: ApiToken): Html {
  return expiresAt === null ? html`when you revoke it` : html`${printDate(expiresAt)}`
}

function printToken(token: ApiToken, visitor: UserSession): Html {
  const isOver = hasEnded(token, visitor.act.at)
  return html`<li>
<div><strong>${token.name}</strong>
  <span class="badge ${token.environment}">${kindWords[token.environment]}</span>${
    isOver && html` <span class="badge off">ended</span>`
  }<br>
<span class="faint">ends in
  <code>${token.hint}</code> · may: ${mayWords(token)} · created ${printDate(token.createdAt)} · ${
    token.expiresAt === null
      ? 'never expires'
      : html`${isOver ? 'ended' : 'ends'} ${printDate(token.expiresAt)}`
  } · last used
  ${token.lastUsedAt ? printDate(token.lastUsedAt) : 'never'}</span></div>
${visitor.forms.ask(forms.revokeToken, {
  ...{ standing: { token: token.id }, label: isOver ? 'Remove' : 'Revoke', of: token.name },
  text: isOver
    ? 'It is refused already. It leaves this list.'
    : 'Programs that use it are refused from their next request on.',
})}
</li>`
}

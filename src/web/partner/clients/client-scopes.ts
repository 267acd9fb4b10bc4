/** What a client may ask for at most, and the request for more: the partner asks, the brokerage decides. */

import { type Client, scopesOfNewClients } from '../../../partners/client.ts'
import type { ScopeRequest } from '../../../partners/scope-request.ts'
import type { Environment } from '../../../vocabulary/environment.ts'
import { scopes, without } from '../../../vocabulary/scope.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import type { Member } from '../../gates/gates.ts'
import * as forms from './forms.ts'

/** Said where a client is registered. */
export const registrationHint: Record<Environment, string> = {
  live: `An application begins with ${scopesOfNewClients.live.join(' and ')} at most. Once it is registered, ask for more on its page; the brokerage decides.`,
  sandbox: 'No real account is at stake in the sandbox: choose any.',
}

export function printScopeRequest(client: Client, asked: ScopeRequest | undefined, member: Member): Html {
  const { isDeveloper } = member
  const missing = without(scopes, client.scopesAtMost)
  const open = asked !== undefined && asked.answeredAt === null
  return html`<section class="card"><h2>Scopes that the brokerage allows ${open && badge('wait', 'more asked for')}</h2>
<p>At most <strong>${client.scopesAtMost.join(' ')}</strong>.${isDeveloper && ' You choose among them below.'}</p>
${asked && (open ? printOpen(asked) : printAnswer(asked))}
${!open && missing.length > 0 && isDeveloper && printForm(client, missing, member)}</section>`
}

function printOpen({ scopes: wanted, reason, askedAt }: ScopeRequest): Html {
  return html`<p>You asked for <strong>${wanted.join(' ')}</strong> on ${printDate(askedAt)}: “${reason}”.
    The brokerage has not answered yet.</p>`
}

function printAnswer(asked: ScopeRequest): Html {
  return html`<p>Your request of ${printDate(asked.askedAt)} for ${asked.scopes.join(' ')} was
    ${answerWords(asked)} on ${printDate(asked.answeredAt!)}.</p>`
}

function answerWords({ scopes: wanted, granted }: ScopeRequest): Content {
  if (!granted || granted.length === 0) return 'declined'
  return granted.length === wanted.length ? 'granted' : `granted in part (${granted.join(' ')})`
}

function printForm({ id }: Client, missing: readonly string[], member: Member): Html {
  const choices = missing.map((scope) => ({ value: scope, label: scope }))
  return member.forms.print(
    forms.askScopes,
    { at: { client: id } },
    (view) => html`${view.field('wider', { choices })}${view.field('reason')}${view.button('Ask for it')}`,
  )
}

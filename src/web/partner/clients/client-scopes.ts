/** What a client may ask for at most, and the request for more: the partner asks, the brokerage decides. */

import { type Client, scopesOfNewClients } from '../../../partners/client.ts'
import type { ScopeRequest } from '../../../partners/scope-request.ts'
import type { Environment } from '../../../vocabulary/environment.ts'
import { scopes, without } from '../../../vocabulary/scope.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, formNotice, longField, ticks } from '../../frame/fields.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { csrfField, printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import { onceField } from '../../frame/submission.ts'
import type { Member } from '../../gates/gates.ts'

/** Said where a client is registered. */
export const registrationHint: Record<Environment, string> = {
  live: `An application begins with ${scopesOfNewClients.live.join(' and ')} at most. Once it is registered, ask for more on its page; the brokerage decides.`,
  sandbox: 'No real account is at stake in the sandbox: choose any.',
}

export function printScopeRequest(
  client: Client,
  asked: ScopeRequest | undefined,
  draft: Draft,
  { home, csrf, isDeveloper }: Member,
): Html {
  const missing = without(scopes, client.scopesAtMost)
  const open = asked !== undefined && asked.answeredAt === null
  return html`<section class="card"><h2>Scopes that the brokerage allows ${open && badge('wait', 'more asked for')}</h2>
<p>At most <strong>${client.scopesAtMost.join(' ')}</strong>.${isDeveloper && ' You choose among them below.'}</p>
${asked && (open ? printOpen(asked) : printAnswer(asked))}
${!open && missing.length > 0 && isDeveloper && printForm(client, missing, draft, home, csrf)}</section>`
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

function printForm(
  client: Client,
  missing: readonly string[],
  draft: Draft,
  home: string,
  csrf: string,
): Html {
  const choices = missing.map((scope) => ({ value: scope, label: scope }))
  const ticked = (draft.values.wider ?? '').split(' ')
  return html`${formNotice(draft, 'wider', 'reason')}
<form method="post" action="${home}/clients/${client.id}/scopes">${csrfField(csrf)}${onceField()}
${ticks(draft, { name: 'wider', label: 'Ask for more' }, choices, ticked)}
${longField(draft, {
  name: 'reason',
  label: 'Why the application needs it',
  more: html`required
  maxlength="${fieldLengths['/partner/:branch/clients/:client/scopes'].reason}"`,
})}
<button>Ask for it</button></form>`
}

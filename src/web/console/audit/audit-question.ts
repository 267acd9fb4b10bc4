/** What the address of the audit log's pages asks for. */
import type { EntryQuestion } from '../../../audit/entry-search.ts'
import { environments } from '../../../vocabulary/environment.ts'
import { anyOf, moment, number, oneOf, questionCharacters, text } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'

const plain = html`spellcheck="false" autocomplete="off" autocapitalize="none"`

const typed = (label: string, placeholder: string) =>
  text({ label, most: questionCharacters, more: html`${plain} placeholder="${placeholder}"` })

const fields = {
  actor: typed('Who', 'user:id-…'),
  action: typed('Action', 'client, client.created'),
  subject: typed('Target', 'webhook:42'),
  environment: oneOf({
    label: 'Environment',
    of: [...environments, 'none'],
    choices: [...anyOf(environments), { value: 'none', label: 'of no environment' }],
  }),
  address: typed('From where', '192.0.2.7'),
  from: moment({ label: 'From (UTC)' }),
  to: moment({ label: 'Until (UTC)' }),
  before: number({ label: 'Before' }),
  format: oneOf({ label: 'Format', of: ['csv', 'json', 'evidence'] }),
}

export type AskedOfLog = Question<typeof fields>

interface AuditQuestion {
  readonly asked: AskedOfLog
  readonly question: EntryQuestion
}

export function readAuditQuestion({ query }: Visit): AuditQuestion {
  const asked = readQuestion(query, fields, ({ from, to }) =>
    from && to && from >= to ? [{ field: 'from', problem: 'must be earlier than the end' }] : [],
  )
  const { actor, action, subject, environment, address, from, to } = asked.values
  // A reader who types the first half with its dot means the same.
  const question = { actor, action: action?.replace(/\.$/, ''), subject, environment, address, from, to }
  return { asked, question }
}

/** The search alone, wherever in what it finds the reader is. */
export function printSearch(
  asked: AskedOfLog,
  more: { readonly before?: number; readonly format?: string } = {},
) {
  return asked.print({ before: undefined, format: undefined, ...more })
}

export function printAuditFilter({ view, ...asked }: AskedOfLog): Html {
  const filter = html`<form class="card filter" method="get" action="/console/audit"
    role="search" aria-label="Audit log">
${view.field('actor')}${view.field('action')}${view.field('subject')}${view.field('environment')}
${view.field('address')}${view.field('from')}${view.field('to')}
<div class="field">${view.button('Search', { look: 'primary' })}</div>
</form>`
  return html`${asked.printProblem()}${filter}`
}

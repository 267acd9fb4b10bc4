/** What the address of the audit log's pages asks for. */
import type { EntryQuestion } from '../../../audit/entry-search.ts'
import { findActions, listActions } from '../../../audit/sentence.ts'
import { environments } from '../../../vocabulary/environment.ts'
import { anyOf, moment, number, oneOf, questionCharacters, text } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Reader } from '../frame/console.ts'
import { findNamed } from './named.ts'

const plain = html`spellcheck="false" autocomplete="off" autocapitalize="none"`

const typed = (label: string, placeholder: string) =>
  text({ label, most: questionCharacters, more: html`${plain} placeholder="${placeholder}"` })

const fields = {
  actor: typed('Who', 'a name, user:id-…'),
  action: text({
    ...{ label: 'Act', most: questionCharacters },
    more: html`${plain} placeholder="locked, client.created" list="actions"`,
  }),
  subject: typed('Target', 'a name, webhook:42'),
  environment: oneOf({
    label: 'Environment',
    of: [...environments, 'none'],
    choices: [...anyOf(environments), { value: 'none', label: 'of no environment' }],
  }),
  address: typed('From where', '192.0.2.7'),
  request: text({
    ...{ label: 'Request id', most: questionCharacters, more: plain },
  }),
  from: moment({ label: 'From' }),
  to: moment({ label: 'Until' }),
  before: number({ label: 'Before' }),
  format: oneOf({ label: 'Format', of: ['csv', 'json', 'evidence'] }),
}

export type AskedOfLog = Question<typeof fields>

/** A name that several have. */
export interface Ambiguity {
  readonly field: 'actor' | 'subject'
  readonly typed: string
  readonly candidates: readonly { readonly id: string; readonly name: string }[]
}

interface AuditQuestion {
  readonly asked: AskedOfLog
  readonly question: EntryQuestion
  readonly ambiguities: readonly Ambiguity[]
}

export async function readAuditQuestion(
  { query, context: { db } }: Visit,
  reader: Reader,
): Promise<AuditQuestion> {
  const asked = readQuestion(query, fields, ({ from, to }) =>
    from && to && from >= to ? [{ field: 'from', problem: 'must be earlier than the end' }] : [],
  )
  const { actor, action, subject, environment, address, request: requestId, from, to } = asked.values
  const actors = actor === undefined ? [] : await findNamed(db, actor, reader)
  const subjects = subject === undefined ? [] : await findNamed(db, subject, reader)
  const question = {
    actor: actors[0]?.id ?? actor,
    actions: action === undefined ? undefined : findActions(action),
    subject: subjects[0]?.id ?? subject,
    ...{ environment, address, requestId, from, to },
  }
  const ambiguities: Ambiguity[] = [
    { field: 'actor' as const, typed: actor ?? '', candidates: actors },
    { field: 'subject' as const, typed: subject ?? '', candidates: subjects },
  ].filter(({ candidates }) => candidates.length > 1)
  return { asked, question, ambiguities }
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
${view.field('address')}${view.field('request')}${view.field('from')}${view.field('to')}
<div class="field">${view.button('Search', { look: 'primary' })}</div>
<datalist id="actions">${listActions().map(([action, words]) => html`<option value="${action}">${words}</option>`)}</datalist>
</form>`
  return html`${asked.printProblem()}${filter}`
}

/** What the address of the audit log's pages asks for. */
import type { EntryQuestion } from '../../../audit/entry-search.ts'
import { environments } from '../../../vocabulary/environment.ts'
import { questionCharacters } from '../../frame/field-lengths.ts'
import { anyOf, choiceField, textField } from '../../frame/fields.ts'
import { type Html, html } from '../../frame/html.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'

const names = ['actor', 'action', 'subject', 'environment', 'address', 'from', 'to']

interface AuditQuestion {
  readonly asked: Question
  readonly question: EntryQuestion
}

export function readAuditQuestion({ request }: Visit): AuditQuestion {
  const asked = readQuestion(request.query, names)
  const question = {
    actor: asked.text('actor'),
    // A reader who types the first half with its dot means the same.
    action: asked.text('action')?.replace(/\.$/, ''),
    subject: asked.text('subject'),
    environment: asked.oneOf('environment', [...environments, 'none']),
    address: asked.text('address'),
    from: asked.moment('from'),
    to: asked.moment('to'),
  }
  if (question.from && question.to && question.from >= question.to)
    asked.refuse({ field: 'from', problem: 'must be earlier than the end' })
  return { asked, question }
}

export function printAuditFilter(asked: Question): Html {
  const draft = asked.draft()
  const plain = html`maxlength="${questionCharacters}" spellcheck="false" autocomplete="off"
    autocapitalize="none"`
  const moment = html`type="datetime-local"`
  const environment = [...anyOf(environments), { value: 'none', label: 'of no environment' }]
  return html`${asked.printProblem()}<form class="card filter" method="get" action="/console/audit"
    role="search" aria-label="Audit log">
${textField(draft, { name: 'actor', label: 'Who', more: html`${plain} placeholder="user:id-…"` })}
${textField(draft, {
  name: 'action',
  label: 'Action',
  more: html`${plain} placeholder="client,
  client.created"`,
})}
${textField(draft, { name: 'subject', label: 'Target', more: html`${plain} placeholder="webhook:42"` })}
${choiceField(draft, { name: 'environment', label: 'Environment' }, environment)}
${textField(draft, { name: 'address', label: 'From where', more: html`${plain} placeholder="192.0.2.7"` })}
${textField(draft, { name: 'from', label: 'From (UTC)', more: moment })}
${textField(draft, { name: 'to', label: 'Until (UTC)', more: moment })}
<div class="field"><button class="primary">Search</button></div>
</form>`
}

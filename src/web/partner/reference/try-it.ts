/**
 * The fields by which an operation of the reference is called from the page, in the sandbox alone. They are
 * of no form and have no names: whatever goes wrong, nothing of them can be sent to an address of pages.
 * public/try-it.js shows them, and calls this very site, as a program would.
 */
import type { Client } from '../../../partners/client.ts'
import { type Html, html } from '../../frame/html.ts'
import { printWords } from '../frame/code-words.ts'
import {
  type Operation,
  ownExample,
  ownIdOf,
  type Parameter,
  type PartnerValues,
  type Schema,
} from './api-document.ts'

export const tryScript = 'try-it.js'

export function printCredentials(clients: readonly Client[], home: string): Html {
  const options = clients.map(({ id, name }) => html`<option value="${id}">${name} (${id})</option>`)
  const none = html`<p>You have no client here yet: <a href="${home}/clients">register one</a>.</p>`
  return html`<section class="card" id="try" hidden><h3>Credentials</h3>
<p>Calls go from this page to the sandbox, with what you enter here. It is sent in a header, stored nowhere,
  and gone when you leave the page. Live credentials are refused.</p>
${
  clients.length === 0
    ? none
    : html`<div class="field"><label for="try-client">Client</label><select
  id="try-client" autocomplete="off">${options}</select></div>${secretField('try-secret', 'Client secret', 'Shown once, when the client or its secret was made.')}`
}
${secretField(
  'try-token',
  'Token',
  html`A sandbox token of your own (<a href="/account/api">API
  settings</a>), or an access token. It is used where no client secret is entered, or none is taken.`,
)}
</section>`
}

function secretField(id: string, label: string, hint: string | Html): Html {
  return html`<div class="field"><label for="${id}">${label}</label><input id="${id}" type="password"
    autocomplete="off" spellcheck="false" maxlength="200" aria-describedby="${id}-hint"><p class="hint"
    id="${id}-hint">${hint}</p></div>`
}

/** A page is opened, everything else is called. */
export function printTry(operation: Operation, own: PartnerValues): Html {
  const { operationId, method, path, parameters, body, takes } = operation
  if (operationId === 'authorize') return printAuthorize(own)
  const fields = parameters.map((each) => printParameter(operation, each, own))
  return html`<div class="try" role="group" aria-label="Try ${operationId}" data-method="${method}"
    data-path="${path}" data-takes="${takes.join(' ')}" data-type="${body?.type ?? ''}" hidden>
${fields}${body && printBody(operation, own)}
<button type="button" class="primary">Call the sandbox</button>
<div class="answer" role="status"></div></div>`
}

function printAuthorize({ clientId }: PartnerValues): Html {
  return html`<p><a class="button"
    href="/v1/oauth/authorize?client_id=${encodeURIComponent(clientId)}&amp;scope=read&amp;state=from-the-reference">Open it in the sandbox</a></p>`
}

interface TryField {
  readonly place: string
  readonly name: string
  readonly isRequired: boolean
  readonly value: string
  readonly schema: Schema | undefined
  readonly hint: string | undefined
}

/** What deletes is not filled in: a click is not enough. */
function printParameter(
  operation: Operation,
  { name, in: place, required, schema, description }: Parameter,
  own: PartnerValues,
) {
  const value = place === 'path' && operation.method !== 'DELETE' ? ownIdOf(operation, name, own) : undefined
  const more = { isRequired: required ?? false, value: String(value ?? ''), schema, hint: description }
  return printField(operation.operationId, { place, name, ...more })
}

function printField(operationId: string, { place, name, isRequired, value, schema, hint }: TryField): Html {
  const id = `${operationId}-${place}-${name}`
  const marks = html`id="${id}" data-place="${place}" data-name="${name}"${isRequired && html` required`}
    aria-describedby="${id}-hint"`
  const words = html`<p class="hint"
    id="${id}-hint">${isRequired ? 'Required. ' : ''}${printWords(hint ?? '')}</p>`
  const whole = schema?.type === 'integer' && html` inputmode="numeric" pattern="[0-9]{1,16}"`
  const field = schema?.enum
    ? html`<select ${marks}>${!isRequired && html`<option></option>`}${schema.enum.map((each) => html`<option>${each}</option>`)}</select>`
    : html`<input ${marks} value="${value}" autocomplete="off" spellcheck="false"${whole}>`
  return html`<div class="field"><label for="${id}">${name} <span
    class="faint">${place}</span></label>${field}${words}</div>`
}

/** The client stands in the header already. */
const inHeader = ['client_id', 'client_secret']

function printBody({ operationId, body }: Operation, own: PartnerValues): Html {
  const { type, schema } = body!
  if (type === 'application/json') {
    const text = JSON.stringify(ownExample(body!, own), undefined, 2)
    return html`<div class="field"><label for="${operationId}-body">Body</label><textarea
      id="${operationId}-body" class="code" data-place="body" rows="${text.split('\n').length}"
      spellcheck="false" autocomplete="off">${text}</textarea></div>`
  }
  const { properties = {}, required = [] } = schema
  const fields = Object.entries(properties).filter(([name]) => !inHeader.includes(name))
  return html`${fields.map(([name, each]) => printField(operationId, { place: 'form', name, isRequired: required.includes(name), value: '', schema: each, hint: each.description }))}`
}

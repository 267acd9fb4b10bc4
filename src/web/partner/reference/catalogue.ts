/**
 * The event catalogue for reading: every kind and action, with its schema and an example as it arrives, of
 * the partner's own branch.
 */

import { isPublishedKind, type Kind } from '../../../webhooks/events/kind.ts'
import {
  type CatalogueAction,
  type CatalogueKind,
  describeEvents,
  describeHeaders,
  exampleSecret,
  printBody,
  printExampleHead,
} from '../../../webhooks/subscriptions/catalogue.ts'
import { type Html, html } from '../../frame/html.ts'
import { table } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { printWords } from '../frame/code-words.ts'
import { sendPortal } from '../frame/portal.ts'

export async function showCatalogue(visit: Visit, member: Member) {
  const { home, partner } = member
  const events = describeEvents(partner.branchId)
  return sendPortal(visit, member, {
    title: 'Event catalogue',
    section: '/events',
    body: html`<h1>Event catalogue</h1>
<p>Every event that is sent to webhooks: what it means, when it is sent, its schema,
  and an example as it arrives. Programs read the same from <a href="/openapi.json">/openapi.json</a>, under
  <code>webhooks</code>.</p>
${printIndex(events)}
<h2 id="headers">Headers</h2>
<p>On every delivery, beside the <a href="${home}/webhooks">headers of your own</a>.
  The examples on this page are signed with the secret
  <code>${exampleSecret}</code>: your program should accept them. If it does not, the
  <a href="${home}/signature">signature debugger</a> says why.</p>
${printHeaders()}
${events.map((each) => printKind(each, member))}`,
  })
}

function printIndex(events: readonly CatalogueKind[]): Html {
  const rows = events.map(({ kind, meaning, actions }) => {
    const links = actions.map(({ action }) => html`<a href="#${kind}.${action}">${action}</a> `)
    return html`<tr><td><a href="#${kind}">${kind}</a></td><td>${meaning}</td><td
      class="links">${links}</td></tr>`
  })
  return table('Events', ['Kind', 'Meaning', 'Actions'], rows)
}

function printHeaders(): Html {
  const rows = describeHeaders().map(
    ({ name, meaning, example }) =>
      html`<tr><td><code>${name}</code></td><td>${meaning}</td><td
        class="url"><code>${example}</code></td></tr>`,
  )
  return table('Headers', ['Header', 'Meaning', 'Example'], rows)
}

function printKind({ kind, title, meaning, when, schema, actions }: CatalogueKind, member: Member): Html {
  const test = `${member.home}/test?kind=${kind}`
  return html`<h2 id="${kind}">${title} <code>${kind}</code></h2>
<p>${meaning} ${when}${
    isPublishedKind(kind) &&
    member.isDeveloper &&
    html`
  <a href="${test}">Send a test event</a>.`
  }</p>
${printFields(schema, title)}
<details class="card"><summary>JSON Schema</summary><pre tabindex="0"
  data-schema="${kind}">${printSchema(schema)}</pre></details>
${actions.map((each) => printAction(kind, each))}`
}

interface Property {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly description?: string
}

/** Each of them is always there. */
function printFields({ properties }: CatalogueKind['schema'], title: string): Html {
  const rows = Object.entries<Property>(properties).map(
    ([name, { type, description, enum: words }]) =>
      html`<tr><td><code>${name}</code></td><td>${[type ?? []].flat().join(' or ')}</td><td>${printWords(description ?? '')} ${words && words.length > 1 && html`<span class="faint">${words.join(', ')}</span>`}</td></tr>`,
  )
  return table(`Fields of ${title}`, ['Field', 'Type', 'Meaning'], rows)
}

function printSchema({
  examples: _examples,
  ...schema
}: CatalogueKind['schema'] & { examples?: unknown }): string {
  return JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema }, undefined, 2)
}

/** The target of a link stands inside: browsers open what hides it. */
function printAction(kind: Kind, { action, meaning, example }: CatalogueAction): Html {
  const body = printBody(kind, example)
  const lines = Object.entries(printExampleHead(body)).map(([name, value]) => `${name}: ${value}`)
  return html`<details class="card"><summary><strong>${action}</strong>
    <span class="faint">${meaning}</span></summary>
<pre tabindex="0" id="${kind}.${action}" data-example="${kind}.${action}">${lines.join('\n')}

${body}</pre></details>`
}

/**
 * The API as /openapi.json describes it, for reading, with the partner's own ids in every example; in the
 * sandbox, to be called from the page.
 */
import { listClients } from '../../../partners/client.ts'
import { searchDeliveries } from '../../../webhooks/deliveries/delivery-search.ts'
import { listWebhooks, webhooksPerBranch } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import { inSandbox } from '../../frame/other-site.ts'
import { badge, table } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { printWords } from '../frame/code-words.ts'
import { sendPortal } from '../frame/portal.ts'
import { printAnswers, printErrors, typeOf } from './answers.ts'
import {
  type ApiDocument,
  type Body,
  type Operation,
  operationsOf,
  type Parameter,
  type PartnerValues,
} from './api-document.ts'
import { printCurl } from './curl-line.ts'
import { printLibrarySettings } from './library-settings.ts'
import { type QuickStart, type QuickStartValues, quickStarts } from './quick-starts.ts'
import { printSending } from './sending.ts'
import { printCredentials, printTry, tryScript } from './try-it.ts'

export async function showReference(visit: Visit, member: Member) {
  const { db, environment, baseUrl } = visit.context
  const { home, partner } = member
  const clients = (await listClients(db, partner.branchId)).filter((each) => each.environment === environment)
  const [client] = clients
  const own = await findOwn(visit, member, client?.id)
  const document = visit.request.server.openapi() as ApiDocument
  const operations = operationsOf(document)
  const isSandbox = environment === 'sandbox'
  return sendPortal(visit, member, {
    title: 'API reference',
    section: '/reference',
    calls: isSandbox,
    scripts: isSandbox ? [tryScript] : [],
    body: html`<h1>API reference</h1>
<p>For <code>${baseUrl}</code> and ${
      client
        ? html`your client
  <strong>${client.name}</strong>`
        : 'a client that you have yet to register'
    }. Programs read the same from
  <a href="/openapi.json">/openapi.json</a>. What arrives at webhooks is in the
  <a href="${home}/events">event catalogue</a>.</p>
<h2>Quick start</h2>
${quickStarts.map((each, place) => printQuickStart(each, own, place === 0))}
${printLibrarySettings(baseUrl, client)}
<h2>Endpoints</h2>
${
  isSandbox
    ? printCredentials(clients, home)
    : html`<p>Each of them can be tried from the page
  <a href="${inSandbox(visit.context, `${home}/reference`)}">in the sandbox</a>.</p>`
}
${operations.map((each) => printOperation(each, document, own, isSandbox))}
<h2 id="errors">Errors</h2>
<p>Every endpoint answers its errors so. OAuth endpoints have <code>error</code> and
  <code>error_description</code> alone, as RFC 6749 has it.</p>
${printErrors(document)}
${printSending(visit.context.config.webhooks.sentFrom, home)}`,
  })
}

async function findOwn(
  { context }: Visit,
  { branch }: Member,
  clientId = 'YOUR_CLIENT_ID',
): Promise<PartnerValues> {
  const { db, baseUrl } = context
  const webhooks = await listWebhooks(db, branch, 0, webhooksPerBranch)
  const { deliveries } = await searchDeliveries(db, webhooks, {}, undefined, 1)
  return {
    baseUrl,
    clientId,
    branchId: branch.branchId,
    webhookId: webhooks[0]?.id,
    deliveryId: deliveries[0]?.id,
  }
}

function printQuickStart(
  { language, start, verify }: QuickStart,
  values: QuickStartValues,
  isOpen: boolean,
): Html {
  return html`<details class="card"${isOpen && html` open`}><summary><strong>${language}</strong></summary>
<h3>Register a webhook and send a test</h3><pre tabindex="0" data-language="${language}">${start(values)}</pre>
${
  verify !== undefined &&
  html`<h3>Verify what arrives</h3><pre tabindex="0"
  data-verify="${language}">${verify}</pre>`
}</details>`
}

function printOperation(
  operation: Operation,
  document: ApiDocument,
  own: PartnerValues,
  isSandbox: boolean,
): Html {
  const { operationId, path, method, parameters, body, description = '', summary = '' } = operation
  return html`<details class="card"><summary>${badge('off', method)} <code>${path}</code>
    <span class="faint">${summary}</span></summary>
<p>${printWords(description)}</p>
${parameters.length > 0 && printParameters(parameters, `${method} ${path}`)}
${body && printBody(body, `${method} ${path}`)}
${printAnswers(operation, document)}
<pre tabindex="0" id="${operationId}" data-curl="${operationId}">${printCurl(operation, own)}</pre>
${isSandbox && printTry(operation, own)}</details>`
}

function printParameters(parameters: readonly Parameter[], of: string): Html {
  const rows = parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<tr><td><code>${name}</code></td><td>${place}</td><td>${required ? 'yes' : 'no'}</td><td>${printWords(description ?? schema?.description ?? '')} ${typeOf(schema)}</td></tr>`,
  )
  return table(`Parameters of ${of}`, ['Parameter', 'In', 'Required', 'Meaning'], rows)
}

function printBody({ type, schema: { properties = {}, required = [] } }: Body, of: string): Html {
  const rows = Object.entries(properties).map(
    ([name, schema]) =>
      html`<tr><td><code>${name}</code></td><td>${required.includes(name) ? 'yes' : 'no'}</td><td>${printWords(schema.description ?? '')} ${typeOf(schema)}</td></tr>`,
  )
  return html`<p class="small">Body:
    <code>${type}</code></p>${table(`Fields of ${of}`, ['Field', 'Required', 'Meaning'], rows)}`
}

/** The API as /openapi.json describes it, for reading, with the partner's own client id in every example. */
import { listClients } from '../../partners/client.ts'
import { type Html, html } from '../frame/html.ts'
import { badge, table } from '../frame/parts.ts'
import type { Visit } from '../frame/visit.ts'
import type { Member } from '../gates.ts'
import { printLibrarySettings } from './library-settings.ts'
import { sendPortal } from './portal.ts'
import { type Quick, type QuickStart, quickStarts } from './quick-starts.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly string[]
  readonly const?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

interface Operation {
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly {
    name: string
    in: string
    required?: boolean
    description?: string
    schema?: Schema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export async function showReference(visit: Visit, member: Member) {
  const { db, environment, baseUrl } = visit.context
  const { branchId } = member.partner
  const [client] = (await listClients(db, branchId)).filter((each) => each.environment === environment)
  const quick = { baseUrl, clientId: client?.id ?? 'YOUR_CLIENT_ID', branchId }
  const document = visit.request.server.openapi() as unknown as Document
  return sendPortal(visit, member, {
    title: 'API reference',
    section: '/reference',
    body: html`<h1>API reference</h1>
<p>For <code>${baseUrl}</code> and ${client ? html`your client <strong>${client.name}</strong>` : 'a client that you have yet to register'}. Programs read the same from <a href="/openapi.json">/openapi.json</a>.</p>
<h2>Quick start</h2>
${quickStarts.map((each, place) => printQuickStart(each, quick, place === 0))}
${printLibrarySettings(baseUrl, client)}
<h2>Endpoints</h2>
${printEndpoints(document, quick)}`,
  })
}

function printQuickStart({ language, start, verify }: QuickStart, quick: Quick, isOpen: boolean): Html {
  return html`<details class="card"${isOpen && html` open`}><summary><strong>${language}</strong></summary>
<h3>Register a webhook and send a test</h3><pre tabindex="0" data-language="${language}">${start(quick)}</pre>
${verify !== undefined && html`<h3>Verify what arrives</h3><pre tabindex="0" data-verify="${language}">${verify}</pre>`}</details>`
}

function printEndpoints({ paths, components }: Document, quick: Quick): Html[] {
  const find = (schema: Schema) => components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => printOperation(path, method, operation, find, quick)),
  )
}

type Find = (schema: Schema) => Schema

function printOperation(path: string, method: string, operation: Operation, find: Find, quick: Quick): Html {
  const { parameters = [], requestBody, responses = {}, summary = '' } = operation
  const [content] = Object.entries(requestBody?.content ?? {})
  return html`<details class="card"><summary>${badge('off', method.toUpperCase())} <code>${path}</code> <span class="faint">${summary}</span></summary>
${parameters.length > 0 && printParameters(parameters)}
${content && printBody(content[0], find(content[1].schema))}
<p class="small">Answers: ${Object.keys(responses).join(', ')}</p>
<pre tabindex="0">${printExample(path, method, operation, content?.[0], quick)}</pre></details>`
}

function printParameters(parameters: NonNullable<Operation['parameters']>): Html {
  const rows = parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<tr><td><code>${name}</code></td><td>${place}</td><td>${required ? 'required' : ''}</td><td>${description ?? schema?.description ?? ''} ${typeOf(schema)}</td></tr>`,
  )
  return table('Parameters', ['Parameter', 'In', '', 'Meaning'], rows)
}

function printBody(type: string, { properties = {}, required = [] }: Schema): Html {
  const rows = Object.entries(properties).map(
    ([name, schema]) =>
      html`<tr><td><code>${name}</code></td><td>${required.includes(name) ? 'required' : ''}</td><td>${schema.description ?? ''} ${typeOf(schema)}</td></tr>`,
  )
  return html`<p class="small">Body: <code>${type}</code></p>${table('Fields', ['Field', '', 'Meaning'], rows)}`
}

function typeOf(schema: Schema | undefined): Html | undefined {
  if (!schema) return undefined
  const words = schema.enum?.join(', ') ?? schema.const ?? [schema.type ?? []].flat().join(' or ')
  return html`<span class="faint">${words}</span>`
}

function printExample(
  path: string,
  method: string,
  { security = [] }: Operation,
  type: string | undefined,
  quick: Quick,
) {
  const schemes = security.flatMap((each) => Object.keys(each))
  const who = schemes.includes('clientBasic')
    ? ` -u "${quick.clientId}:$CLIENT_SECRET"`
    : schemes.includes('personalToken')
      ? ' -H "Authorization: Bearer $ACCESS_TOKEN"'
      : ''
  const how = method === 'get' ? '' : ` -X ${method.toUpperCase()}`
  const body = type === undefined ? '' : ` -H 'Content-Type: ${type}' -d @body`
  const query = path === '/v1/oauth/authorize' ? `?client_id=${quick.clientId}&scope=read&state=RANDOM` : ''
  return `curl${how}${who}${body} '${quick.baseUrl}${path}${query}'`
}

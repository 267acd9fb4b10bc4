/** What the endpoints answer: the fields of each answer with an example, and the errors that all share. */
import { type Html, html } from '../../frame/html.ts'
import { table } from '../../frame/parts.ts'
import { printWords } from '../frame/code-words.ts'
import type { ApiDocument, DescribedAnswer, Operation, Schema } from './api-document.ts'

/** Refusals are described once for all, under Errors. */
export function printAnswers({ method, path, responses = {} }: Operation, document: ApiDocument): Html {
  const all = Object.entries(responses)
  const refused = all.filter(([, { $ref }]) => $ref)
  const links = refused.map(([status], n) => html`${n > 0 && ', '}<a href="#error-${status}">${status}</a>`)
  return html`${all
    .filter(([, { $ref }]) => !$ref)
    .map(([status, answer]) => printAnswer(`${status} of ${method} ${path}`, status, answer, document))}
${links.length > 0 && html`<p class="small">Errors: ${links}</p>`}`
}

function printAnswer(of: string, status: string, answer: DescribedAnswer, document: ApiDocument): Html {
  const { description = '', content = {} } = answer
  return html`<h3>Answer ${status}</h3><p>${printWords(description)}</p>
${Object.entries(content).map(([type, { schema, example }]) => {
  const rows = fieldsOf(schema, document)
  return html`<p class="small"><code>${type}</code></p>
${rows.length > 0 && table(`Fields of ${of}, ${type}`, ['Field', 'Always', 'Meaning'], rows.map(printField))}
${example !== undefined && html`<pre tabindex="0" data-example="${of}">${printExample(example)}</pre>`}`
})}`
}

interface AnswerField {
  readonly name: string
  readonly isAlways: boolean
  readonly schema: Schema
}

/** As deep as anything here is. */
const deepest = 4

/** What is inside others stands behind its dot; an element of a list behind `[]`. */
function fieldsOf(schema: Schema, document: ApiDocument, before = '', depth = 0): readonly AnswerField[] {
  const { properties = {}, required = [], items, oneOf } = resolve(schema, document)
  if (depth > deepest) return []
  if (items) return fieldsOf(items, document, `${before}[]`, depth)
  if (oneOf) return uniteFields(oneOf.map((each) => fieldsOf(each, document, before, depth)))
  return Object.entries(properties).flatMap(([own, part]) => {
    const name = before === '' ? own : `${before}.${own}`
    const field = { name, isAlways: required.includes(own), schema: resolve(part, document) }
    return [field, ...fieldsOf(part, document, name, depth + 1)]
  })
}

/** Of several shapes, a field that not all of them have is not always there. */
function uniteFields(shapes: readonly (readonly AnswerField[])[]): AnswerField[] {
  const all = Map.groupBy(shapes.flat(), ({ name }) => name)
  return [...all.values()].map(([first, ...others]) => ({
    ...first!,
    isAlways: others.length === shapes.length - 1 && [first!, ...others].every(({ isAlways }) => isAlways),
  }))
}

function resolve(schema: Schema, { components }: ApiDocument): Schema {
  return components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
}

function printField({ name, isAlways, schema }: AnswerField): Html {
  return html`<tr><td><code>${name}</code></td><td>${isAlways ? 'yes' : 'no'}</td><td>${printWords(schema.description ?? '')} ${typeOf(schema)}</td></tr>`
}

export function typeOf(schema: Schema | undefined): Html | undefined {
  if (!schema) return undefined
  const words = schema.enum?.join(', ') ?? schema.const ?? [schema.type ?? []].flat().join(' or ')
  return html`<span class="faint">${words}</span>`
}

function printExample(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, undefined, 2)
}

export function printErrors(document: ApiDocument): Html {
  const { paths, components } = document
  const answers = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses = {} }) => Object.entries(responses)),
  )
  const named = new Map(
    answers.flatMap(([status, { $ref }]): [string, string][] =>
      $ref ? [[$ref.split('/').at(-1)!, status]] : [],
    ),
  )
  const byStatus = Map.groupBy(named, ([, status]) => status)
  const statuses = [...byStatus].sort(([one], [other]) => Number(one) - Number(other))
  const shapes = statuses.map(
    ([status, names]) =>
      [status, names.map(([name]) => components.responses[name]).find(isPlain) ?? {}] as const,
  )
  const rows = shapes.map(
    ([
      status,
      { description = '', headers = {}, content },
    ]) => html`<tr id="error-${status}"><td>${status}</td>
<td>${printWords(description)}</td><td>${Object.keys(headers).join(', ')}</td>
<td><pre tabindex="0">${printExample(content?.['application/json']?.example)}</pre></td></tr>`,
  )
  return table('Errors', ['Status', 'Meaning', 'Headers', 'Example'], rows)
}

/** Not the one of the OAuth endpoints, nor a page. */
function isPlain(answer: DescribedAnswer | undefined): boolean {
  const example = answer?.content?.['application/json']?.example
  return typeof example === 'object' && example !== null && 'request_id' in example
}

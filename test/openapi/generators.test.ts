/**
 * What generators of clients stumble over, and so is not in the document. Each rule is one that a generator
 * broke on: docs/libraries.md names the generators, and what they make of the document that keeps to these.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createService } from '../../src/services/service.ts'
import { basic, openHouse } from '../support/gateway.ts'
import {
  bodyOf,
  type JsonSchema,
  type OpenApi,
  type Operation,
  operationsOf,
  readDocument,
  schemasIn,
} from './document.ts'

const house = await openHouse()
const made = await createService(house.gateway.context.db, 'ledger', 'live', house.act())
const service = basic({ id: made.service.id, secret: made.secret.text })
const partners = await readDocument(house.baseUrl)
const both = [partners, await readDocument(house.internalUrl, '/internal/openapi.json', service)]

/**
 * Every word that a schema may use. Unions are not among them: many a generator drops the fields that stand
 * beside one.
 */
const words = new Set([
  ...['$ref', 'type', 'format', 'enum', 'const', 'default', 'title', 'description', 'examples'],
  ...['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  ...['items', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'pattern'],
])

/** Generators pass over these; they only tighten fields that are named beside them. */
const conditions = new Set(['if', 'then', 'else'])
const conditional = ['/components/schemas/TokenRequest']

/** Told apart by a discriminator, and for the brokerage's own systems alone. */
const unions = ['/components/schemas/EventPayload']

test('no schema has a union, or a word that is not on the list', () => {
  for (const document of both) {
    for (const [place, schema] of schemasIn(document)) {
      if (unions.includes(place)) continue
      for (const word of Object.keys(schema)) {
        if (conditions.has(word) && conditional.includes(place)) continue
        assert.ok(words.has(word), `${place} ${word}`)
      }
    }
  }
})

test('fields stand beside no other fields of any name: an object has its fields, or is a map', () => {
  for (const document of both) {
    for (const [place, schema] of schemasIn(document)) {
      const { properties = {}, additionalProperties } = schema as JsonSchema & {
        additionalProperties?: unknown
      }
      if (Object.keys(properties).length > 0)
        assert.ok(additionalProperties === undefined || additionalProperties === false, place)
    }
  }
})

/** What is any JSON, and nothing else has no type: `account` is an object or a list. */
const untyped = ['/components/schemas/User/properties/account']

test('every field has a type or a name', () => {
  for (const document of both) {
    for (const [place, { $ref, type, oneOf }] of schemasIn(document)) {
      if (/\/(if|then|else)\//.test(place)) continue
      assert.equal(
        $ref !== undefined || type !== undefined || oneOf !== undefined,
        !untyped.includes(place),
        place,
      )
    }
  }
})

test('a set holds values that have a name: of others, generated Java does not compile', () => {
  for (const document of both)
    for (const [place, schema] of schemasIn(document)) {
      const { items, uniqueItems } = schema as JsonSchema & { uniqueItems?: boolean }
      if (uniqueItems && items) assert.ok(!('enum' in items), place)
    }
})

test('named values differ, in capitals too: in generated Go each is a constant of the package', () => {
  for (const document of both) {
    const named = Object.values(document.components.schemas) as (JsonSchema & { enum?: string[] })[]
    const values = named.flatMap((each) => each.enum ?? []).map((value) => value.toUpperCase())
    assert.ok(values.length > 4)
    assert.equal(new Set(values).size, values.length, values.join(' '))
  }
})

test('patterns are read alike by JavaScript, Python, Java, Go and Rust', () => {
  for (const document of both) {
    for (const [place, { pattern }] of schemasIn(document)) {
      if (pattern === undefined) continue
      assert.match(pattern, /^\^.*\$$/, place)
      // No properties of Unicode, no looking around, no naming, no going back to a group, no code in braces,
      // no half of a pair.
      assert.doesNotMatch(
        pattern,
        /\\[pPkKbBAzZGhHXR1-9]|\\u\{|\\x\{|\(\?[^:]|\\u[dD][89a-fA-F]|\[\[:|&&/,
        `${place} ${pattern}`,
      )
      // What is written as itself would stand so in generated sources.
      assert.doesNotMatch(pattern, /[^\x20-\x7e]/, place)
    }
  }
})

test('an operation that succeeds answers in one way', () => {
  for (const operation of both.flatMap(operationsOf)) {
    const successes = Object.keys(operation.responses).filter((status) => /^[23]/.test(status))
    assert.equal(successes.length, 1, `${operation.operationId}: ${successes}`)
  }
})

test('what decides whether anything happens is in the address, never a field that a client can lose', () => {
  for (const operation of operationsOf(partners)) {
    const fields = operation.requestBody ? namesIn(partners, bodyOf(operation)[1].schema) : []
    const names = [...fields, ...operation.parameters.map(({ name }) => name)]
    for (const name of names)
      assert.doesNotMatch(name, /dry|preview|simulate|confirm|force|test/i, operation.operationId)
  }
})

test('every field of a request that starts a replay is known as such to a generator: a flat object of plain values', () => {
  const { properties, ...rest } = partners.components.schemas.ReplayDraft!
  assert.deepEqual(Object.keys(properties!), ['from', 'to', 'entity', 'failed'])
  assert.deepEqual(Object.keys(rest).sort(), ['additionalProperties', 'description', 'examples', 'type'])
})

test('what a receiver is sent has a tag that no call has', () => {
  for (const document of both) {
    const calls = new Set(operationsOf(document).flatMap(({ tags }) => tags))
    const received = new Set(receivedIn(document).flatMap(({ tags }) => tags))
    assert.equal(received.size, 1)
    for (const tag of received) {
      assert.ok(!calls.has(tag), tag)
      assert.ok(document.tags.some(({ name }) => name === tag))
    }
    const names = [...operationsOf(document), ...receivedIn(document)].map(({ operationId }) => operationId)
    assert.equal(
      new Set(names).size,
      names.length,
      'every operation has a name of its own, received ones too',
    )
  }
})

test('every named schema is reached from a path: what only webhooks lead to, some generators leave out', () => {
  for (const document of both) {
    const reached = new Set<string>()
    const waiting: unknown[] = [document.paths]
    for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
      for (const [, kind, name] of JSON.stringify(part).matchAll(
        /"#\/components\/(schemas|responses)\/(\w+)"/g,
      )) {
        if (reached.has(`${kind}/${name}`)) continue
        reached.add(`${kind}/${name}`)
        waiting.push(document.components[kind as 'schemas' | 'responses'][name!])
      }
    }
    for (const name of Object.keys(document.components.schemas))
      assert.ok(reached.has(`schemas/${name}`), name)
  }
})

test('whatever names something that may not be there can answer 404', () => {
  for (const operation of operationsOf(partners)) {
    const naming = operation.parameters.filter((each) => each.in === 'path' || /Id$/.test(each.name))
    if (naming.length > 0) assert.ok('404' in operation.responses, operation.operationId)
  }
})

test('no schema has a name that languages keep for themselves', () => {
  const kept =
    /^(Object|Array|String|Number|Boolean|Map|Set|List|Date|Error|File|Function|Class|Type|From|Any|Option|Result|Box|Vec|Default|Self)$/
  for (const document of both)
    for (const name of Object.keys(document.components.schemas)) assert.doesNotMatch(name, kept)
})

type OperationSummary = Pick<Operation, 'operationId' | 'tags'>

function receivedIn(document: OpenApi): OperationSummary[] {
  const { webhooks } = document as OpenApi & { webhooks: Record<string, { post: OperationSummary }> }
  const callbacks = operationsOf(document).flatMap((operation) => {
    const { callbacks: own = {} } = operation as {
      callbacks?: Record<string, Record<string, { post: OperationSummary }>>
    }
    return Object.values(own).flatMap((each) => Object.values(each))
  })
  return [...Object.values(webhooks), ...callbacks].map(({ post }) => post)
}

/** The names of all fields of a body, however deep. */
function namesIn({ components }: OpenApi, schema: JsonSchema): string[] {
  const named = schema.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1)!]!
  return Object.entries(named.properties ?? {}).flatMap(([name, part]) => [
    name,
    ...namesIn({ components } as OpenApi, part),
  ])
}

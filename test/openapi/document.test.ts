/** /openapi.json as generators and testers want it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { createService } from '../../src/services/service.ts'
import { send } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { allows, operationOf, operationsOf, readDocument, responseOf, schemasIn } from './document.ts'

const house = await openHouse()
const document = await readDocument(house.baseUrl)
const internal = await readDocument(house.internalUrl, '/internal/openapi.json', await serviceCredentials())

async function serviceCredentials() {
  const { db } = house.gateway.context
  const { service, secret } = await createService(db, 'ledger', 'live', house.act())
  return basic({ id: service.id, secret: secret.text })
}

test('each site describes itself, under its own address', async () => {
  assert.match(document.openapi, /^3\.1/)
  assert.equal(document.servers[0]?.url, house.baseUrl)
  assert.equal((await readDocument(house.sandboxUrl)).servers[0]?.url, house.sandboxUrl)
})

test('every operation has a name of its own, a tag that is explained, and says who may call', () => {
  const operations = operationsOf(internal)
  assert.ok(operations.length > 25)
  const names = operations.map(({ operationId }) => operationId)
  assert.deepEqual([...new Set(names)], names)
  const tags = internal.tags.map(({ name }) => name)
  for (const { operationId, tags: own, security } of operations) {
    assert.match(operationId, /^[a-z][A-Za-z]+$/)
    assert.ok(
      own.every((tag) => tags.includes(tag)),
      operationId,
    )
    assert.ok(Array.isArray(security), operationId)
  }
})

test('everything is described in sentences: operations, parameters, fields, answers, headers', () => {
  const sentence = /^\S.*[.!]$/s
  for (const operation of operationsOf(internal)) {
    assert.ok(operation.summary.length > 5, operation.operationId)
    assert.match(operation.description, sentence, operation.operationId)
    for (const { name, description } of operation.parameters)
      assert.match(description ?? '', sentence, `${operation.operationId} ${name}`)
    for (const status of Object.keys(operation.responses))
      assert.match(
        responseOf(internal, operation, Number(status))!.description,
        sentence,
        operation.operationId,
      )
  }
  for (const { description } of Object.values(internal.components.headers))
    assert.match(description, sentence)
  for (const [name, schema] of Object.entries(internal.components.schemas)) {
    if (schema.oneOf) continue
    assert.match(schema.description ?? '', sentence, name)
    for (const [field, part] of Object.entries(schema.properties ?? {}))
      if (part.$ref === undefined) assert.match(part.description ?? '', sentence, `${name}.${field}`)
  }
})

test('every answer that has a body has an example, of which its schema allows every part', () => {
  for (const operation of operationsOf(internal))
    for (const status of Object.keys(operation.responses)) {
      const { content = {} } = responseOf(internal, operation, Number(status))!
      const json = content['application/json']
      if (json)
        assert.ok(
          allows(internal, json.schema, json.example),
          `${operation.operationId} ${status} ${JSON.stringify(json.example)}`,
        )
    }
})

test('what is a whole number is typed as an integer, wide enough for epoch milliseconds', () => {
  const whole = ['id', 'replayId', 'limit', 'after', 'from', 'to']
  for (const { operationId, path, parameters } of operationsOf(document)) {
    // A delivery is named by several numbers.
    const isNumber = (name: string) =>
      whole.includes(name) && !(name === 'id' && path.startsWith('/v2/deliveries/'))
    for (const { name, schema } of parameters.filter((each) => isNumber(each.name))) {
      assert.equal(schema.type, 'integer', `${operationId} ${name}`)
    }
  }
  for (const [place, { type, format }] of schemasIn(internal))
    if (type === 'integer') assert.equal(format, 'int64', place)
})

test('every object is named in components, and a discriminator stands over names alone', () => {
  for (const [place, schema] of schemasIn(internal)) {
    if (/^\/components\/schemas\/\w+$/.test(place)) continue
    assert.ok(schema.type !== 'object' && schema.oneOf === undefined, place)
  }
  const { EventPayload } = internal.components.schemas
  assert.deepEqual(Object.keys(EventPayload!.discriminator!.mapping), [
    'TRANSACTION',
    'APPLICATION',
    'ACH_PROFILE',
  ])
  for (const name of [
    ...EventPayload!.oneOf!.map(({ $ref }) => $ref),
    ...Object.values(EventPayload!.discriminator!.mapping),
  ])
    assert.ok(name!.replace('#/components/schemas/', '') in internal.components.schemas, name)
  assert.equal(JSON.stringify(document).includes('discriminator'), false)
})

test('every reference leads somewhere, and every component is used', () => {
  for (const each of [document, internal]) {
    const text = JSON.stringify(each)
    const used = new Set(
      [...text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)].map(([, kind, name]) => `${kind}/${name}`),
    )
    const { securitySchemes, ...components } = each.components
    const there = Object.entries(components).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `${kind}/${name}`),
    )
    assert.deepEqual([...used].sort(), there.sort())
    const schemes = operationsOf(each).flatMap(({ security }) => security.flatMap((one) => Object.keys(one)))
    assert.deepEqual([...new Set(schemes)].sort(), Object.keys(securitySchemes).sort())
  }
})

test("the partners' document names nothing of the brokerage's own; that one is for its services alone", async () => {
  assert.doesNotMatch(JSON.stringify(document), /internal\/|serviceBasic|publishEvents|EventBatch/)
  assert.ok('/internal/v1/events' in internal.paths)
  assert.equal((await send(`${house.internalUrl}/internal/openapi.json`)).status, 401)
  const client = await house.makeClient()
  assert.equal(
    (await send(`${house.internalUrl}/internal/openapi.json`, { headers: basic(client) })).status,
    401,
  )
})

test('tokens are an oauth2 scheme with the addresses and the scopes of the flow; no scheme has a name that generators use', () => {
  const { securitySchemes } = internal.components
  assert.deepEqual(Object.keys(securitySchemes).sort(), [
    'clientBasic',
    'oauth2',
    'personalToken',
    'serviceBasic',
  ])
  const { flows } = securitySchemes.oauth2 as { flows: { authorizationCode: Record<string, unknown> } }
  const { scopes, ...addresses } = flows.authorizationCode
  assert.deepEqual(addresses, {
    authorizationUrl: `${house.baseUrl}/v1/oauth/authorize`,
    tokenUrl: `${house.baseUrl}/v1/oauth/accesstoken`,
    refreshUrl: `${house.baseUrl}/v1/oauth/refreshtoken`,
  })
  assert.deepEqual(Object.keys(scopes as object), ['read', 'write', 'market', 'trade', 'stream'])
  assert.deepEqual(operationOf(document, 'getProfile').security, [
    { oauth2: ['read'] },
    { personalToken: [] },
  ])
})

test('Prefer, the event stream and Last-Event-ID are there', () => {
  const header = (id: string) => operationOf(document, id).parameters.filter((each) => each.in === 'header')
  for (const id of ['testTransactionWebhook', 'testApplicationWebhook', 'testAchProfileWebhook']) {
    assert.deepEqual(
      header(id).map(({ name }) => name),
      ['Prefer'],
    )
    assert.ok('Preference-Applied' in responseOf(document, operationOf(document, id), 202)!.headers)
  }
  assert.deepEqual(
    header('pullEvents').map(({ name }) => name),
    ['Last-Event-ID'],
  )
  const { content } = responseOf(document, operationOf(document, 'pullEvents'), 200)!
  assert.deepEqual(Object.keys(content!), ['application/json', 'text/event-stream'])
})

test('every status is listed with its headers, whatever went wrong', () => {
  const headersOf: Record<number, string[]> = {
    401: ['WWW-Authenticate'],
    405: ['Allow'],
    429: [
      'Retry-After',
      'X-Ratelimit-Allowed',
      'X-Ratelimit-Used',
      'X-Ratelimit-Available',
      'X-Ratelimit-Expiry',
    ],
    503: ['Retry-After'],
  }
  for (const operation of operationsOf(internal)) {
    const expected = [400, 405, 408, 431, 500, 503, ...(operation.security.length > 0 ? [401, 429] : [])]
    for (const status of expected) {
      const response = responseOf(internal, operation, status)
      assert.ok(response, `${operation.operationId} ${status}`)
      for (const name of [...(headersOf[status] ?? []), 'X-Request-Id'])
        assert.ok(name in response.headers, `${status} ${name}`)
    }
    if (operation.method !== 'get')
      for (const status of [413, 415]) assert.ok(responseOf(internal, operation, status))
    if (operation.path.includes('{')) assert.ok(responseOf(internal, operation, 404), operation.operationId)
    // A pushed request has a name, and no address.
    if (responseOf(internal, operation, 201) && operation.operationId !== 'pushAuthorizationRequest')
      assert.ok('Location' in responseOf(internal, operation, 201)!.headers)
  }
})

test('every example fits its schema, and every pattern has one', () => {
  for (const operation of operationsOf(internal)) {
    for (const { name, schema, example } of operation.parameters) {
      if (example !== undefined)
        assert.ok(allows(internal, schema, example), `${operation.operationId} ${name}`)
      if (schema.pattern !== undefined) assert.notEqual(example, undefined, name)
    }
    for (const { schema, example } of Object.values(operation.requestBody?.content ?? {})) {
      assert.ok(allows(internal, schema, example), operation.operationId)
    }
  }
  for (const [place, schema] of schemasIn(internal.components)) {
    for (const example of schema.examples ?? [])
      assert.ok(allows(internal, schema, example), `${place} ${example}`)
    if (schema.pattern !== undefined) assert.ok(schema.examples, place)
  }
})

test('Redocly finds no error in either document', async () => {
  const config = await createConfig({ extends: ['recommended'] })
  for (const each of [document, internal]) {
    const problems = await lintFromString({ source: JSON.stringify(each), config })
    const errors = problems.filter(({ severity }) => severity === 'error')
    assert.deepEqual(
      errors.map(({ message, location }) => `${location[0]?.pointer}: ${message}`),
      [],
    )
  }
})

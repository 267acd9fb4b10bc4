/**
 * Whatever is sent to any operation of any of the three documents, no answer is a 5xx, and none has a status
 * or a body that its document does not describe. Requests are made of the documents: as they say, and nearly.
 * FUZZ_SEED chooses others, FUZZ_RUNS is how many each operation gets.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'
import Schema from 'typebox/schema'
import { createService } from '../../src/services/service.ts'
import { openAdminProgram } from '../support/administration.ts'
import { openBranch, transaction } from '../support/branch.ts'
import { type Answer, formOf, type SentRequest, sendToStream } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { holdSnapshot } from '../support/imports.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openHolder } from '../support/oauth.ts'
import { openReceiver } from '../support/receiver.ts'
import { conforming, hostile, nearly } from './arbitrary.ts'
import {
  bodyOf,
  type JsonSchema,
  type OpenApi,
  type Operation,
  operationsOf,
  readDocument,
  responseOf,
} from './document.ts'

const seed = Number(process.env.FUZZ_SEED ?? 1)
const runs = Number(process.env.FUZZ_RUNS ?? 15)

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true', CLIENT_FAILURES_PER_MINUTE: '100000' })
const { db } = house.gateway.context
const receiver = await keepOpen(openReceiver())
const partner = await house.makePartner({ refresh: true })
const program = await openBranch(house, { client: await house.makeClient({ partner, scope: 'read trade' }) })
const holder = await openHolder(house)
const made = await createService(db, 'ledger', 'live', house.act(), { mayProvision: ['core'] })
const service = basic({ id: made.service.id, secret: made.secret.text })
const admin = await openAdminProgram(house)
const bearer = { authorization: `Bearer ${await house.makeToken(holder.user)}` }

/** What there is, so that requests come to something. */
const webhook = await program.register(receiver.url('/fuzz'))
const { deliveries } = await program.fire(transaction({ transactionId: 42 }))
const held = await holdSnapshot(house)
await holder.tokens(program.client)
await admin.call('PUT', '/admin/v1/partners/acme?reason=x', {
  spec: { displayName: 'Acme', state: 'approved' },
})
const known = [
  ...[webhook, deliveries[0]!.id, held.id, holder.user.id, program.client.id, 'acme', 'core', 1, 2],
].map(String)

const documents: Readonly<Record<string, OpenApi>> = {
  partners: await readDocument(house.baseUrl),
  internal: await readDocument(house.internalUrl, '/internal/openapi.json', service),
  admin: await readDocument(house.internalUrl, '/admin/openapi.json', { ...admin.headers }),
}

const isOwn = (whose: string, { tags: [tag] }: Operation) => (whose === 'internal') === (tag === 'Internal')

for (const [whose, document] of Object.entries(documents))
  test(`the ${whose} document describes every answer, and none is a 5xx (FUZZ_SEED=${seed})`, async () => {
    const operations = operationsOf(document).filter((each) => isOwn(whose, each))
    assert.ok(operations.length > 5)
    const wrong: string[] = []
    for (const operation of operations) {
      const property = fc.asyncProperty(requestOf(document, operation), async (request) => {
        const base = whose === 'partners' ? house.baseUrl : house.internalUrl
        const answer = await sendToStream(base + request.path, request.sent)
        const problem = findProblem(document, operation, answer)
        if (problem)
          wrong.push(
            `${operation.operationId}: ${problem}\n  ${request.path}\n  ${JSON.stringify(request.sent)}`,
          )
        assert.equal(problem, undefined)
      })
      // The first of each operation is enough, and a smaller one finds another house.
      await fc.check(property, { seed, numRuns: runs, endOnFailure: true })
    }
    assert.deepEqual(wrong, [])
  })

interface MadeRequest {
  readonly path: string
  readonly sent: SentRequest
}

function requestOf(document: OpenApi, operation: Operation): Arbitrary<MadeRequest> {
  const of = (where: string) => operation.parameters.filter((each) => each.in === where)
  const value = (schema: JsonSchema) =>
    fc.oneof({ weight: 6, arbitrary: conforming(document, schema) }, hostile).map(print)
  const named = (schema: JsonSchema) =>
    fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, value(schema))
  const inPath = fc.record(Object.fromEntries(of('path').map(({ name, schema }) => [name, named(schema)])))
  const inQuery = fc.record(
    Object.fromEntries(of('query').map(({ name, schema }) => [name, fc.oneof(value(schema), named(schema))])),
    { requiredKeys: [] },
  )
  const inHead = fc.record(
    Object.fromEntries(of('header').map(({ name, schema }) => [name.toLowerCase(), value(schema)])),
    { requiredKeys: [] },
  )
  const more = fc.constantFrom('', '', '', '', '&extra=1', '&limit=1&limit=2', '&__proto__=1', '&=&%')
  const body = operation.requestBody ? bodyFor(document, operation) : fc.constant(undefined)
  return fc.tuple(inPath, inQuery, inHead, more, body, credentialsFor(operation)).map((parts) => {
    const [path, query, head, rest, content, credentials] = parts
    const address = operation.path.replace(/\{(\w+)\}/g, (_, name) => encode(String(path[name as string])))
    const asked = Object.entries(query).map(([name, each]) => `${name}=${encode(String(each))}`)
    const headers = Object.fromEntries(Object.entries(head).filter(([, each]) => isHeaderValue(String(each))))
    return {
      path: `${address}?${asked.join('&')}${rest}`,
      sent: {
        method: operation.method.toUpperCase() as SentRequest['method'] & string,
        headers: { ...headers, ...credentials, ...(content && { 'content-type': content.type }) },
        ...(content && { body: content.text }),
      },
    }
  })
}

function print(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

const encode = (text: string) => encodeURIComponent(text.toWellFormed())

/** Others never leave the client. */
const isHeaderValue = (text: string) => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)

function bodyFor(document: OpenApi, operation: Operation): Arbitrary<{ type: string; text: string }> {
  const [type, { schema }] = bodyOf(operation)
  const text = nearly(document, schema).map((value) => printBody(type, value))
  const sound = text.map((each) => ({ type, text: each }))
  const raw = fc.constantFrom('', '{', '[]', 'null', '\0', '{"a":1,"a":2}', '﻿{}', '%%%', '{"__proto__":{}}')
  const other = fc.constantFrom(type, type, `${type}; charset=utf-8`, 'text/plain', 'application/xml')
  return fc.oneof(
    { weight: 8, arbitrary: sound },
    fc.tuple(other, fc.oneof(raw, text)).map(([its, each]) => ({ type: its, text: each })),
  )
}

function printBody(type: string, value: unknown): string {
  if (type === 'application/json') return JSON.stringify(value) ?? ''
  const isFields = typeof value === 'object' && value !== null
  if (type === 'application/x-www-form-urlencoded' && isFields)
    return formOf(
      Object.fromEntries(Object.entries(value).map(([name, each]) => [name, print(each).toWellFormed()])),
    )
  return print(value)
}

/** Mostly those that it takes. */
function credentialsFor({ security }: Operation): Arbitrary<Record<string, string>> {
  const names = security.flatMap((each) => Object.keys(each))
  const right: Record<string, string>[] = names.flatMap((name) => {
    if (name === 'clientBasic') return [program.credentials]
    if (name === 'serviceBasic') return [service]
    if (name === 'adminCredential') return [{ ...admin.headers }]
    return [bearer]
  })
  if (right.length === 0) return fc.constant({})
  const wrong = fc.constantFrom<Record<string, string>>(
    {},
    { authorization: 'Bearer x' },
    { authorization: 'Basic !' },
    { authorization: `Bearer cslm${'a'.repeat(48)}` },
  )
  return fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...right) }, wrong)
}

const checkers = new Map<object, (value: unknown) => boolean>()

function isAllowed({ components }: OpenApi, schema: JsonSchema, value: unknown): boolean {
  const compiled = checkers.get(schema)
  if (compiled) return compiled(value)
  const checker = Schema.Compile({ ...schema, components } as never)
  checkers.set(schema, (each) => checker.Check(each))
  return checker.Check(value)
}

function findProblem(document: OpenApi, operation: Operation, answer: Answer): string | undefined {
  const { status, headers, text } = answer
  const told = `${status} ${text.slice(0, 500)}`
  if (status >= 500) return told
  const response = responseOf(document, operation, status)
  if (!response) return `is not described: ${told}`
  const [type = ''] = String(headers['content-type'] ?? '').split(';')
  const content = response.content?.[type]
  if (!content) return text === '' ? undefined : `${type} is not described: ${told}`
  if (type === 'text/html') return undefined
  const body = type === 'application/json' ? JSON.parse(text) : text
  return isAllowed(document, content.schema, body) ? undefined : `is not as described: ${told}`
}

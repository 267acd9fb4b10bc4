/**
 * The event catalogue is what receivers get: its examples fit its schemas, its schemas what the engine sends,
 * and page and document are printed from it.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import Schema from 'typebox/schema'
import { createService } from '../../src/services/service.ts'
import { actions, isPublishedKind, type Kind, kinds, type Payload } from '../../src/webhooks/events/kind.ts'
import {
  bodies,
  describeEvents,
  describeHeaders,
  exampleSecret,
  printBody,
  printExampleHead,
} from '../../src/webhooks/subscriptions/catalogue.ts'
import { allows, type Content, type OpenApi, type Parameter, readDocument } from '../openapi/document.ts'
import { callJson, openBranch } from '../support/branch.ts'
import type { Browser } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartner } from '../support/portal.ts'
import { decodeEntities } from '../support/quick-start.ts'
import { openReceiver, type ReceivedRequest } from '../support/receiver.ts'

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const receiver = await keepOpen(openReceiver())
const { service, secret } = await createService(house.gateway.context.db, 'ledger', 'live', house.act())
const ledger = basic({ id: service.id, secret: secret.text })
const published = kinds.filter(isPublishedKind)

const fits = (kind: Kind, body: unknown) => Schema.Compile(bodies[kind]).Check(body)

const all = kinds.flatMap((kind) => actions[kind].map((action) => `${kind}.${action}`))

/** What HTTP needs of its own. */
const ofHttp = ['host', 'connection', 'content-length']
const namesOf = ({ headers }: ReceivedRequest) =>
  Object.keys(headers).filter((name) => !ofHttp.includes(name))
const described = describeHeaders().map(({ name }) => name)

function assertAsDescribed(received: ReceivedRequest, isTest: boolean): Payload {
  const body = JSON.parse(received.body) as Payload & { type: Kind }
  assert.ok(fits(body.type, body), received.body)
  assert.equal(received.body, printBody(body.type, body), 'the example is printed as the engine prints')
  assert.deepEqual(
    namesOf(received),
    described.filter((name) => isTest || name !== 'x-webhook-test'),
  )
  return body
}

test('there is every kind and every action, with an example that fits its schema, and none that fits without one of its fields', () => {
  const events = describeEvents(7)
  const named = events.flatMap(({ kind, actions: own }) => own.map(({ action }) => `${kind}.${action}`))
  assert.deepEqual(named, all)
  for (const { kind, actions: own } of events) {
    for (const { action, example } of own) {
      assert.ok(fits(kind, example), `${kind} ${action}`)
      assert.deepEqual([example.type, example.action, example.branchId], [kind, action, 7])
      assert.deepEqual(JSON.parse(printBody(kind, example)), example)
      for (const field of Object.keys(example)) {
        const { [field]: _left, ...rest } = example
        assert.equal(fits(kind, rest), false, `${kind} without ${field}`)
      }
      assert.equal(fits(kind, { ...example, more: 1 }), false)
    }
  }
})

test('the head of an example is signed with the secret that is named beside it', () => {
  const body = printBody('TRANSACTION', describeEvents(1)[0]!.actions[0]!.example)
  const head = printExampleHead(body)
  const sign = (text: string, encoding: 'hex' | 'base64') =>
    createHmac('sha256', exampleSecret).update(text).digest(encoding)
  assert.equal(head['x-webhook-signature'], sign(body, 'hex'))
  const base = `${head['webhook-id']}.${head['webhook-timestamp']}.${body}`
  assert.equal(head['webhook-signature'], `v1,${sign(base, 'base64')}`)
  for (const { name, meaning } of describeHeaders()) assert.match(meaning ?? '', /\.$/, name)
})

test('what the brokerage publishes arrives as the catalogue says, byte for byte, and so do test events, which say that they are', async () => {
  const program = await openBranch(house)
  await program.register(receiver.url('/published'))
  const events = describeEvents(program.branchId).filter(({ kind }) => isPublishedKind(kind))
  const sent = events.flatMap(({ actions: own }) => own.map(({ example }) => example))
  const answer = await callJson(`${house.internalUrl}/internal/v1/events`, 'POST', { events: sent }, ledger)
  assert.equal(answer.status, 202, answer.text)
  await receiver.count('/published', sent.length)
  const arrived = receiver.at('/published').map((each) => assertAsDescribed(each, false))
  const nameOf = ({ type, action }: Payload) => `${type}.${action}`
  assert.deepEqual(arrived.map(nameOf).sort(), sent.map(nameOf).sort())
  for (const { kind, actions: own } of events) {
    const { deliveries } = await program.fire(own[0]!.example)
    assert.equal(deliveries[0]!.state, 'delivered', kind)
  }
  const tests = receiver.at('/published').slice(sent.length)
  assert.equal(tests.length, published.length)
  for (const each of tests) assertAsDescribed(each, true)
})

test('what account holders grant, change, pause and revoke arrives as the catalogue says', async () => {
  const program = await openBranch(house)
  await program.register(receiver.url('/granted'), { kinds: ['AUTHORIZATION'] })
  const browser = await house.signIn(await house.makeUser())
  const press = async (act: string, at: Browser) => at.submit(await at.get('/account'), `/account/${act}`, {})
  await house.approve(program.client, browser, { scope: 'read' })
  await house.approve(program.client, browser, { scope: 'read trade' })
  await press('pause', browser)
  await press('resume', browser)
  await press('revoke', browser)
  await receiver.count('/granted', 5)
  const arrived = receiver.at('/granted').map((each) => assertAsDescribed(each, false))
  assert.deepEqual(
    arrived.map(({ action, scope, reason, paused }) => [action, scope, reason, paused]),
    [
      ['GRANTED', 'read', null, false],
      ['CHANGED', 'read trade', null, false],
      ['CHANGED', 'read trade', null, true],
      ['CHANGED', 'read trade', null, false],
      ['REVOKED', 'read trade', 'revoked by the user', false],
    ],
  )
  assert.deepEqual([...new Set(arrived.map(({ action }) => action))], [...actions.AUTHORIZATION])
})

interface CatalogueDocument extends OpenApi {
  readonly webhooks: Readonly<Record<string, { readonly post: DescribedDelivery }>>
}

interface DescribedDelivery {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly requestBody: { readonly content: Readonly<Record<string, Content & { examples: Examples }>> }
}

type Examples = Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>

test('the webhooks of /openapi.json are the catalogue, and each of their examples fits the schema that the document has of it', async () => {
  const document = (await readDocument(house.baseUrl)) as CatalogueDocument
  assert.deepEqual(Object.keys(document.webhooks), [...kinds])
  for (const { kind, actions: own } of describeEvents(1)) {
    const { post } = document.webhooks[kind]!
    const { schema, examples } = post.requestBody.content['application/json']!
    assert.match(schema.$ref!, /^#\/components\/schemas\/\w+Payload$/)
    assert.deepEqual(
      Object.entries(examples).map(([action, { value }]) => [action, value]),
      own.map(({ action, example }) => [action, example]),
    )
    for (const { value } of Object.values(examples)) assert.ok(allows(document, schema, value), kind)
    const wrong = { ...(Object.values(examples)[0]!.value as object), action: 'SOLD' }
    assert.equal(allows(document, schema, wrong), false)
    const names = post.parameters.map(({ name }) => name)
    const hasTests = isPublishedKind(kind)
    assert.deepEqual(
      names,
      described.filter((name) => name !== 'content-type' && (hasTests || name !== 'x-webhook-test')),
    )
  }
})

test('the page of the portal shows every example of the own branch as it arrives, every schema, and is led to from reference and test form', async () => {
  const own = await openPartner(house)
  const { text, status } = await own.browser.get(`${own.home}/events`)
  assert.equal(status, 200)
  const shown = (attribute: string) =>
    [...text.matchAll(new RegExp(`data-${attribute}="([^"]*)">(.*?)</pre>`, 'gs'))].map(
      ([, name, content]) => [name!, decodeEntities(content!)] as const,
    )
  assert.deepEqual(
    shown('example').map(([name]) => name),
    all,
  )
  for (const [name, content] of shown('example')) {
    const [head, body] = content.split('\n\n')
    const [kind] = name.split('.') as [Kind]
    assert.ok(fits(kind, JSON.parse(body!)), name)
    assert.equal(JSON.parse(body!).branchId, own.partner.branchId)
    const signature = createHmac('sha256', exampleSecret).update(body!).digest('hex')
    assert.ok(head!.split('\n').includes(`x-webhook-signature: ${signature}`), name)
    assert.ok(text.includes(`href="#${name}"`), name)
  }
  for (const [kind, schema] of shown('schema')) {
    const { description, properties } = JSON.parse(schema)
    assert.deepEqual(Object.keys(properties), Object.keys(bodies[kind as Kind].properties))
    assert.match(description, /\.$/)
  }
  assert.equal(shown('schema').length, kinds.length)
  for (const path of ['/reference', '/test?kind=APPLICATION']) {
    assert.ok((await own.browser.get(own.home + path)).text.includes(`href="${own.home}/events`), path)
  }
})

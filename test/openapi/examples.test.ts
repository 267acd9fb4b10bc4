/**
 * Every example of the document, sent as it stands there to a gateway that holds what the examples name, is
 * accepted; and what comes back is what the document says. Only what is secret or good once is put in its
 * place.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readImport, startImport } from '../../src/provisioning/import.ts'
import { createService } from '../../src/services/service.ts'
import { openBranch, transaction } from '../support/branch.ts'
import { type Answer, formOf, type SentRequest, send, sendToStream } from '../support/browser.ts'
import { openDnsServer } from '../support/dns-server.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openHolder } from '../support/oauth.ts'
import { openReceiver } from '../support/receiver.ts'
import { allows, bodyOf, type Operation, operationsOf, readDocument, responseOf } from './document.ts'

// What is sent to the host of the examples goes nowhere: its name is unknown.
const names = await keepOpen(openDnsServer())
const house = await openHouse({
  ...{ WEBHOOK_ALLOW_LOOPBACK: 'true', WEBHOOK_DNS_SERVERS: names.address, RATE_LIMIT_PER_MINUTE: '1000' },
})
const receiver = await keepOpen(openReceiver())
const partner = await house.makePartner({ refresh: true })
const program = await openBranch(house, { client: await house.makeClient({ partner, scope: 'read trade' }) })
const holder = await openHolder(house)
const { db } = house.gateway.context
const made = await createService(db, 'ledger', 'live', house.act(), { mayProvision: ['core'] })
const service = basic({ id: made.service.id, secret: made.secret.text })
const document = await readDocument(house.internalUrl, '/internal/openapi.json', service)

/**
 * A gateway that is new gives the number 1, which is what the examples name, to the first webhook and replay.
 * A delivery is named by its webhook and the number of its event, a skip by the number up to which it went.
 */
test('what the examples name is there', async () => {
  assert.equal(await program.register(receiver.url('/examples')), 1)
  const { deliveries } = await program.fire(transaction({ transactionId: 42 }))
  assert.equal(deliveries[0]?.id, '1-1')
  const skip = await program.call('POST', '/v2/webhooks/1/skips', { reason: 'An example.' })
  assert.equal(skip.json().id, 1)
  const replay = await program.call('POST', '/v2/webhooks/1/replays', { entity: 'transaction:42' })
  assert.equal(replay.json().id, 1)
  const draft = { source: 'core', environment: 'live', mode: 'changes', dryRun: false } as const
  const act = house.act()
  async function* lines() {
    yield Buffer.from('\n\n\n')
  }
  const { id } = await readImport(db, await startImport(db, draft, act), lines(), { act: () => act })
  assert.equal(id, 1)
})

/** What ends or holds up the webhook comes after all that needs it. */
const last = ['putWebhook', 'updateWebhook', 'pauseWebhook', 'resumeWebhook', 'cancelReplay', 'deleteWebhook']
const place = ({ operationId }: Operation) => last.indexOf(operationId)

test('every example is accepted as it stands, and answered as the document says', async () => {
  const operations = operationsOf(document).sort((one, other) => place(one) - place(other))
  for (const operation of operations) {
    const answer = await sendExample(operation)
    assert.ok(answer.status < 400, `${operation.operationId}: ${answer.status} ${answer.text}`)
    assertDescribed(operation, answer)
  }
})

test('with a token too, whose use is counted in the headers', async () => {
  const user = await house.makeUser()
  const operation = operationsOf(document).find(({ operationId }) => operationId === 'getProfile')!
  const headers = { authorization: `Bearer ${await house.makeToken(user)}` }
  const answer = await send(house.at(operation.path), { headers })
  assertDescribed(operation, answer)
  for (const name of ['allowed', 'used', 'available', 'expiry'])
    assert.match(String(answer.headers[`x-ratelimit-${name}`]), /^\d+$/)
})

async function sendExample(operation: Operation): Promise<Answer> {
  const examples = (kind: string) =>
    operation.parameters
      .filter((each) => each.in === kind && each.example !== undefined)
      .map(({ name, example }) => [name, String(example)] as [string, string])
  let path = operation.path
  for (const [name, value] of examples('path')) path = path.replace(`{${name}}`, value)
  const query = new URLSearchParams(
    examples('query').map(([name, value]): [string, string] => [
      name,
      value.replace('CLIENT_ID', program.client.id),
    ]),
  )
  if (query.has('code_challenge')) query.set('code_challenge_method', 'S256')
  const headers = { ...Object.fromEntries(examples('header')), ...(await credentialsFor(operation)) }
  const method = operation.method.toUpperCase() as SentRequest['method'] & string
  const body = operation.requestBody && (await bodyFor(operation))
  const sent = { ...headers, ...(body && { 'content-type': body.type }) }
  return sendToStream(`${house.at(path)}${query.size > 0 ? `?${query}` : ''}`, {
    ...{ method, headers: sent },
    ...(body && { body: body.text }),
  })
}

async function credentialsFor({ security }: Operation): Promise<Record<string, string>> {
  const names = security.flatMap((each) => Object.keys(each))
  if (names.includes('clientBasic')) return program.credentials
  if (names.includes('serviceBasic')) return service
  if (names.includes('oauth2'))
    return { authorization: `Bearer ${(await holder.tokens(program.client)).access_token}` }
  return {}
}

async function bodyFor(operation: Operation): Promise<{ type: string; text: string }> {
  const [type, { example }] = bodyOf(operation)
  if (type === 'application/x-ndjson') return { type, text: String(example) }
  if (type === 'application/json')
    return { type, text: JSON.stringify({ ...(example as object), ...ownBranch(example) }) }
  const fields = Object.entries(example as Record<string, string>).map(async ([name, value]) => [
    name,
    await live(value),
  ])
  return { type, text: formOf(Object.fromEntries(await Promise.all(fields))) }
}

/** A branch is the number that it is; all else is as it stands in the example. */
function ownBranch(example: unknown): object {
  const { branchId, events } = example as { branchId?: number; events?: object[] }
  if (events) return { events: events.map((event) => ({ ...event, branchId: program.branchId })) }
  return branchId === undefined ? {} : { branchId: program.branchId }
}

/** What is good once, or secret. */
async function live(value: string): Promise<string> {
  if (value === 'CODE') return holder.code(program.client, { scope: 'read' })
  if (value === 'REFRESH_TOKEN')
    return (await holder.tokens(program.client, { scope: 'read' })).refresh_token!
  if (value === 'ACCESS_TOKEN') return (await holder.tokens(program.client, { scope: 'read' })).access_token
  return value
}

function assertDescribed(operation: Operation, answer: Answer): void {
  const name = `${operation.operationId} ${answer.status}`
  const response = responseOf(document, operation, answer.status)
  assert.ok(response, `${name} is not in the document`)
  const [type] = String(answer.headers['content-type'] ?? '').split(';')
  const content = response.content?.[type!]
  assert.equal(content === undefined, answer.text === '', `${name} ${type}`)
  const body = type === 'text/event-stream' ? answer.text : content && answer.json()
  if (content) assert.ok(allows(document, content.schema, body), `${name}: ${answer.text}`)
  if ('Location' in response.headers) assert.ok(answer.headers.location, name)
  assert.ok(answer.headers['x-request-id'], name)
}

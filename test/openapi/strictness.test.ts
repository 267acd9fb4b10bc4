/**
 * The document is as strict as the gateway: what one allows the other takes, what one forbids the other
 * refuses.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { judgeRequest } from '../../src/oauth/authorization-request.ts'
import { openBranch, transaction } from '../support/branch.ts'
import { formOf, postForm, send } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { allows, bodyOf, operationOf, readDocument } from './document.ts'

const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const program = await openBranch(house)
const document = await readDocument(house.baseUrl)
const webhook = await program.register('http://127.0.0.1:1/strict')

const allowsBody = (operationId: string, body: unknown) =>
  allows(document, bodyOf(operationOf(document, operationId))[1].schema, body)

const allowsParameter = (operationId: string, name: string, value: unknown) =>
  allows(
    document,
    operationOf(document, operationId).parameters.find((each) => each.name === name)!.schema,
    value,
  )

const url = 'http://127.0.0.1:1/strict'

test('a webhook is refused for the same URLs, secrets and kinds by both', async () => {
  const bodies: [boolean, unknown][] = [
    [true, { url }],
    [true, { url, secret: 's'.repeat(8) }],
    [true, { url, secret: 'é'.repeat(200) }],
    [true, { url, secret: '😀'.repeat(200) }],
    [false, {}],
    [false, { url: '' }],
    [false, { url: ' ' }],
    [false, { url: 'ftp://app.example.com' }],
    [false, { url: 'app.example.com' }],
    [false, { url: `${url}#part` }],
    [false, { url: 'https://é.example.com' }],
    [false, { url: `https://app.example.com/${'a'.repeat(2_000)}` }],
    [false, { url, secret: '' }],
    [false, { url, secret: 's'.repeat(7) }],
    [false, { url, secret: '😀'.repeat(7) }],
    [false, { url, secret: 's'.repeat(201) }],
    [false, { url, kinds: [] }],
    [false, { url, kinds: ['TRANSACTION', 'TRANSACTION'] }],
    [false, { url, extra: 1 }],
  ]
  for (const [isGood, body] of bodies) {
    assert.equal(allowsBody('createWebhook', body), isGood, JSON.stringify(body))
    const answer = await program.call('POST', '/v2/webhooks', body)
    assert.equal(answer.status, isGood ? 201 : 400, `${JSON.stringify(body)} ${answer.text}`)
  }
})

test('a replay that cannot be is refused by both, and one that chooses nothing by the gateway', async () => {
  const bodies: [boolean, unknown][] = [
    [true, { failed: true }],
    [true, { entity: 'transaction:1' }],
    [true, { from: 0 }],
    [false, { failed: true, dryRun: true }],
    [false, { from: -1 }],
    [false, { from: 1_000_000_000_000_000 }],
    [false, { entity: '\0' }],
  ]
  const count = (body: unknown) => program.call('POST', `/v2/webhooks/${webhook}/replays/dry-run`, body)
  for (const [isGood, body] of bodies) {
    assert.equal(allowsBody('countReplay', body), isGood, JSON.stringify(body))
    const answer = await count(body)
    assert.equal(answer.status, isGood ? 200 : 400, `${JSON.stringify(body)} ${answer.text}`)
  }
  for (const body of [{}, { failed: false }]) assert.equal((await count(body)).status, 400)
})

test('reasons and descriptions are refused for the same characters and lengths by both', async () => {
  const notes: [isText: boolean, isLine: boolean, note: string][] = [
    [true, true, 'the amounts were wrong'],
    [true, true, '請求書 😀 é'],
    [true, true, '😀'.repeat(200)],
    [true, false, 'two\nlines'],
    [false, true, ''],
    [false, true, ' '],
    [false, true, '\u3000\u00a0'],
    ...[
      '\0',
      '\u001b',
      '\u007f',
      '\u009b',
      '\u00ad',
      '\u061c',
      '\u200b',
      '\u2028',
      '\u202e',
      '\u2066',
      '\ue000',
      '\ufeff',
    ].map((bad): [boolean, boolean, string] => [false, false, `a${bad}b`]),
    [false, false, '😀'.repeat(201)],
    [false, false, 'a'.repeat(201)],
  ]
  for (const [isText, isLine, note] of notes) {
    const text = JSON.stringify(note)
    assert.equal(allowsBody('startSkip', { reason: note }), isText, text)
    const skipped = await program.call('POST', `/v2/webhooks/${webhook}/skips`, { reason: note })
    assert.equal(skipped.status, isText ? 202 : 400, `${text} ${skipped.text}`)
    assert.equal(allowsBody('updateWebhook', { description: note }), isLine, text)
    const described = await program.call('PATCH', `/v2/webhooks/${webhook}`, { description: note })
    assert.equal(described.status, isLine ? 200 : 400, `${text} ${described.text}`)
  }
})

test('what a list is asked for is refused by both, in every spelling', async () => {
  const queries: [boolean, string, string, string, unknown][] = [
    [true, '/v2/webhooks', 'listWebhooks', 'limit', 100],
    [false, '/v2/webhooks', 'listWebhooks', 'limit', 0],
    [false, '/v2/webhooks', 'listWebhooks', 'limit', 101],
    [false, '/v2/webhooks', 'listWebhooks', 'limit', ''],
    [false, '/v2/webhooks', 'listWebhooks', 'limit', 'ten'],
    [true, '/v2/webhooks', 'listWebhooks', 'cursor', 'c1'],
    [true, '/v2/webhooks', 'listWebhooks', 'cursor', 'c9999999999999999'],
    [false, '/v2/webhooks', 'listWebhooks', 'cursor', ''],
    [false, '/v2/webhooks', 'listWebhooks', 'cursor', 'MQ'],
    [false, '/v2/webhooks', 'listWebhooks', 'cursor', 'c10000000000000000'],
    [true, '/v2/events', 'pullEvents', 'after', 0],
    [false, '/v2/events', 'pullEvents', 'after', -1],
    [false, '/v2/events', 'pullEvents', 'after', 1.5],
    [false, '/v2/events', 'pullEvents', 'after', 1_000_000_000_000_000],
    [true, `/v2/webhooks/${webhook}/deliveries`, 'listDeliveries', 'from', 0],
    [false, `/v2/webhooks/${webhook}/deliveries`, 'listDeliveries', 'to', -1],
    [false, `/v2/webhooks/${webhook}/deliveries`, 'listDeliveries', 'state', 'lost'],
  ]
  for (const [isGood, path, operationId, name, value] of queries) {
    assert.equal(allowsParameter(operationId, name, value), isGood, `${name}=${value}`)
    const answer = await program.call('GET', `${path}?${new URLSearchParams({ [name]: String(value) })}`)
    assert.equal(answer.status, isGood ? 200 : 400, `${name}=${value} ${answer.text}`)
  }
  assert.ok(allowsParameter('pullEvents', 'after', 999_999_999_999_999))
  assert.equal(
    (await program.call('GET', '/v2/events?after=999999999999999')).status,
    409,
    'beyond the newest',
  )
  // A number has one spelling in an address; these would be the same number, or a number to somebody.
  for (const spelling of ['1e1', '0x1', '01', '+1', ' 1', '1.0', '-0', '١'])
    assert.equal(
      (await program.call('GET', `/v2/events?after=${encodeURIComponent(spelling)}`)).status,
      400,
      spelling,
    )
})

test('ids are numbers from 1 on to both', async () => {
  for (const [isGood, id] of [
    [true, Number.MAX_SAFE_INTEGER],
    [false, Number.MAX_SAFE_INTEGER + 1],
    [false, 0],
    [false, -1],
    [false, 1.5],
    [false, 'one'],
  ] as const) {
    assert.equal(allowsParameter('getWebhook', 'id', id), isGood, String(id))
    assert.equal((await program.call('GET', `/v2/webhooks/${id}`)).status, isGood ? 404 : 400, String(id))
  }
})

test('a delivery is named by its webhook, the number of its event and, of what is sent again, the round, to both', async () => {
  for (const [isGood, id] of [
    [true, '99999-1'],
    [true, '99999-1-2'],
    [false, '1'],
    [false, '0-1'],
    [false, '1-0'],
    [false, '1-1-0'],
    [false, '01-1'],
    [false, '1-1-1-1'],
    [false, '1-x'],
  ] as const) {
    assert.equal(allowsParameter('getDelivery', 'id', id), isGood, id)
    assert.equal((await program.call('GET', `/v2/deliveries/${id}`)).status, isGood ? 404 : 400, id)
  }
})

const token = 'csla'

test('forms with an empty or a missing field are refused by both, and one that is not needed may be empty', async () => {
  const forms: [boolean, string, string, Record<string, string>, string][] = [
    [true, '/v1/oauth/introspect', 'introspectToken', { token, token_type_hint: '' }, ''],
    [false, '/v1/oauth/introspect', 'introspectToken', { token: '' }, 'invalid_request'],
    [false, '/v1/oauth/introspect', 'introspectToken', {}, 'invalid_request'],
    [true, '/v1/oauth/revoke', 'revokeToken', { token }, ''],
    [false, '/v1/oauth/revoke', 'revokeToken', { token: '' }, 'invalid_request'],
    [false, '/v1/oauth/accesstoken', 'exchangeCode', { grant_type: '' }, 'invalid_request'],
    [false, '/v1/oauth/accesstoken', 'exchangeCode', { code: 'x' }, 'invalid_request'],
    [false, '/v1/oauth/accesstoken', 'exchangeCode', { grant_type: 'authorization_code' }, 'invalid_request'],
    [
      false,
      '/v1/oauth/accesstoken',
      'exchangeCode',
      { grant_type: 'authorization_code', code: '' },
      'invalid_request',
    ],
    [
      false,
      '/v1/oauth/accesstoken',
      'exchangeCode',
      { grant_type: 'refresh_token', code: 'x' },
      'invalid_request',
    ],
    [false, '/v1/oauth/accesstoken', 'exchangeCode', { grant_type: 'password' }, 'unsupported_grant_type'],
    [
      true,
      '/v1/oauth/accesstoken',
      'exchangeCode',
      { grant_type: 'authorization_code', code: 'x', refresh_token: '' },
      'invalid_grant',
    ],
    [
      false,
      '/v1/oauth/refreshtoken',
      'refreshAccessToken',
      { grant_type: 'authorization_code', refresh_token: 'x' },
      'unsupported_grant_type',
    ],
    [
      false,
      '/v1/oauth/refreshtoken',
      'refreshAccessToken',
      { grant_type: 'refresh_token', refresh_token: '' },
      'invalid_request',
    ],
    [
      false,
      '/v1/oauth/refreshtoken',
      'refreshAccessToken',
      { grant_type: 'refresh_token', refresh_token: 'x', scope: 'all' },
      'invalid_scope',
    ],
    [
      true,
      '/v1/oauth/refreshtoken',
      'refreshAccessToken',
      { grant_type: 'refresh_token', refresh_token: 'x', scope: ', read,trade ' },
      'invalid_grant',
    ],
    [
      true,
      '/v1/oauth/refreshtoken',
      'refreshAccessToken',
      { grant_type: 'refresh_token', refresh_token: 'x', scope: '' },
      'invalid_grant',
    ],
  ]
  for (const [isGood, path, operationId, form, error] of forms) {
    assert.equal(allowsBody(operationId, form), isGood, formOf(form))
    const answer = await postForm(house.baseUrl + path, form, program.credentials)
    assert.equal(answer.json().error ?? '', error, `${path} ${formOf(form)} ${answer.text}`)
  }
  const empty = await send(`${house.baseUrl}/v1/oauth/revoke`, {
    method: 'POST',
    headers: program.credentials,
  })
  assert.equal(empty.json().error, 'invalid_request')
})

test('payloads of test webhooks are refused by both', async () => {
  const changes: [boolean, Record<string, unknown>][] = [
    [true, {}],
    [true, { amount: 0 }],
    [false, { amount: -1 }],
    [false, { transactionId: 0 }],
    [false, { transactionId: 2 ** 53 }],
    [false, { clearingAccount: '' }],
    [false, { email: 'nobody' }],
    [false, { type: 'APPLICATION' }],
    [false, { extra: 1 }],
  ]
  for (const [isGood, change] of changes) {
    const body = transaction(change)
    assert.equal(allowsBody('testTransactionWebhook', body), isGood, JSON.stringify(change))
    assert.equal((await program.call('POST', '/v2/webhooks/transaction', body)).status, isGood ? 202 : 400)
  }
})

const ask = (state: string) =>
  send(
    `${house.baseUrl}/v1/oauth/authorize?${new URLSearchParams({ client_id: program.client.id, scope: 'read', state })}`,
  )

test('a state that the document allows fits into the head of a request, whatever it is made of', async () => {
  for (const state of [
    's'.repeat(2_048),
    '%'.repeat(2_048),
    'é'.repeat(2_048),
    '€'.repeat(1_280),
    '😀'.repeat(1_280),
    `${'😀'.repeat(512)}${'é'.repeat(1_536)}`,
  ]) {
    assert.equal(allowsParameter('authorize', 'state', state), true, state.slice(0, 2))
    assert.match((await ask(state)).location ?? '', /\/login\?request=/, state.slice(0, 2))
  }
})

test('a state that the gateway refuses is forbidden by the document: 1,900 euro signs among them', async () => {
  for (const state of [
    '',
    's'.repeat(2_049),
    '€'.repeat(1_281),
    '€'.repeat(1_900),
    `${'😀'.repeat(513)}${'s'.repeat(768)}`,
    'a\tb',
    '\x7f',
  ]) {
    assert.equal(allowsParameter('authorize', 'state', state), false, `${state.slice(0, 2)} ${state.length}`)
    const answer = await ask(state)
    assert.ok(
      answer.status === 431 || /error=invalid_request/.test(answer.location ?? ''),
      `${answer.status} ${answer.location}`,
    )
  }
})

test('of any state the document and the gateway think the same', async () => {
  const client = (await house.gateway.context.clients.find(program.client.id))!
  const part = fc.constantFrom('a', ' ', '~', 'é', '߿', 'ࠀ', '€', '😀', '\u001f', '\u007f', '\u0080')
  const run = fc
    .tuple(part, fc.integer({ min: 0, max: 1_400 }))
    .map(([character, times]) => character.repeat(times))
  fc.assert(
    fc.property(fc.array(run, { maxLength: 4 }), (runs) => {
      const state = runs.join('')
      const query = { client_id: client.id, scope: 'read', ...(state !== '' && { state }) }
      const bytes = { ...query, ...(state !== '' && { state: Buffer.from(state).toString('latin1') }) }
      const isSound =
        judgeRequest({ query, bytes, pushed: false }, client, house.clock.now()).kind === 'sound'
      assert.equal(allowsParameter('authorize', 'state', state), isSound)
    }),
    { numRuns: 300 },
  )
})

test('of any scope the document and the gateway think the same', async () => {
  const made = await house.makeClient({ scope: 'read write market trade stream' })
  const client = (await house.gateway.context.clients.find(made.id))!
  const word = fc.constantFrom(
    'read',
    'write',
    'market',
    'trade',
    'stream',
    'Read',
    'rea',
    ' ',
    ',',
    '\t',
    '',
  )
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 6 }).map((words) => words.join('')),
      (scope) => {
        const query = { client_id: client.id, scope, state: 's' }
        const isSound =
          judgeRequest({ query, bytes: query, pushed: false }, client, house.clock.now()).kind === 'sound'
        assert.equal(allowsParameter('authorize', 'scope', scope), isSound, JSON.stringify(scope))
      },
    ),
  )
})

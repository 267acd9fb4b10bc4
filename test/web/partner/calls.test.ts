/** The log of API calls: what was called, what became of it, how to mend it; never a secret, never another's. */
import assert from 'node:assert/strict'
import { request as connectTo } from 'node:http'
import { test } from 'node:test'
import { hour, second } from '../../../src/clock.ts'
import type { Call } from '../../../src/partners/call-log.ts'
import { emptyNextCalls, findCallsByRequest } from '../../../src/partners/calls.ts'
import { openCommandLineAt } from '../../cli/command-line.ts'
import { operationsOf, readDocument } from '../../openapi/document.ts'
import { callJson } from '../../support/branch.ts'
import { Browser, postForm, send } from '../../support/browser.ts'
import { readCalls } from '../../support/calls.ts'
import { eventually } from '../../support/eventually.ts'
import { basic, openHouse, type TokenBody } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { openSecondNode } from '../../support/oauth.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { countRows } from '../../support/web.ts'

const house = await openHouse()
const own = await openPartner(house)
const { db, callLog } = house.gateway.context

const ofPartner = (of: PartnerHouse) => readCalls(house, of.partner.branchId)

async function pageOf(of: PartnerHouse, query = ''): Promise<string> {
  await callLog.flush()
  return (await of.browser.get(`${of.home}/calls${query}`)).text
}

const token = (fields: Record<string, string>, headers: Record<string, string>) =>
  postForm(`${house.baseUrl}/v1/oauth/accesstoken`, fields, headers)

const list = (of: PartnerHouse, path = '', headers: Record<string, string> = {}) =>
  callJson(`${house.baseUrl}/v2/webhooks${path}`, 'GET', undefined, { ...basic(of.client), ...headers })

test('every call of a client is listed, with method, route, status, duration and request id', async () => {
  const partner = await openPartner(house)
  await list(partner, '', { 'x-request-id': 'mine-1' })
  await list(partner, '/999999', { 'x-request-id': 'mine-2' })
  const calls = await ofPartner(partner)
  const [older, newer] = ['mine-1', 'mine-2'].map((id) => calls.find(({ requestId }) => requestId === id))
  assert.deepEqual(
    [older!.method, older!.route, older!.status, older!.requestId, older!.code],
    ['GET', '/v2/webhooks', 200, 'mine-1', null],
  )
  assert.deepEqual([newer!.route, newer!.status, newer!.cause], ['/v2/webhooks/:id', 404, 'not-found'])
  assert.ok(older!.durationMs >= 0 && older!.clientId === partner.client.id)
  const all = await pageOf(partner)
  assert.ok(all.includes('mine-1') && all.includes('mine-2'))
  const failed = await pageOf(partner, '?failed=yes')
  assert.ok(!failed.includes('mine-1') && failed.includes('mine-2'))
  for (const [query, found] of [
    ['status=200', 'mine-1'],
    ['status=4xx', 'mine-2'],
    ['route=GET+%2Fv2%2Fwebhooks%2F', 'mine-2'],
    ['request=mine-1', 'mine-1'],
  ]) {
    const text = await pageOf(partner, `?${query}`)
    const other = found === 'mine-1' ? 'mine-2' : 'mine-1'
    assert.ok(text.includes(`<code>${found}`) && !text.includes(`<code>${other}`), query)
  }
  assert.match(await pageOf(partner, '?status=ten'), /must be a status such as 404/)
})

test('a failed call has a page with the rule behind it, the fields at fault and the remedy', async () => {
  const partner = await openPartner(house)
  await callJson(`${house.baseUrl}/v2/webhooks`, 'POST', { url: 'http://x', kinds: 7 }, basic(partner.client))
  const [call] = await ofPartner(partner)
  assert.deepEqual([call!.cause, call!.fields], ['wrong-fields', ['kinds']])
  const { text, status } = await partner.browser.get(`${partner.home}/calls/${call!.id}`)
  assert.equal(status, 200)
  assert.match(text, /Fields at fault: <code>kinds<\/code>/)
  assert.match(text, /How to fix it:<\/strong> Correct what the answer names/)
  assert.equal((await own.browser.get(`${own.home}/calls/${call!.id}`)).status, 404, 'another partner')
  assert.equal((await partner.browser.get(`${partner.home}/calls/0`)).status, 404)
  const sandbox = await house.signIn(partner.user, 'sandbox')
  assert.equal((await sandbox.get(`${partner.home}/calls/${call!.id}`)).status, 404, 'the other site')
  assert.match((await sandbox.get(`${partner.home}/calls`)).text, /There are no such calls/)
})

test('an authorization request, a wrong secret and an address at which nothing is are listed as not proven', async () => {
  const partner = await openPartner(house)
  const { client } = partner
  const query = new URLSearchParams({ client_id: client.id, scope: 'everything', state: 'private' })
  await new Browser(house.baseUrl).get(`/v1/oauth/authorize?${query}`)
  await token({ grant_type: 'authorization_code', code: 'x' }, basic({ id: client.id, secret: 'wrong' }))
  await callJson(`${house.baseUrl}/v2/webhook/7?x=y`, 'GET', undefined, basic(client))
  await token({ grant_type: 'authorization_code', code: 'x' }, basic(client))
  const calls = await ofPartner(partner)
  assert.deepEqual(
    new Set(calls.map(({ route, status, cause, isClaimed }) => `${route} ${status} ${cause} ${isClaimed}`)),
    new Set([
      '/v1/oauth/authorize 302 scope true',
      '/v1/oauth/accesstoken 401 client-credentials true',
      '/v2/webhook/7 404 no-such-address true',
      '/v1/oauth/accesstoken 400 code-not-taken false',
    ]),
  )
})

test('whoever has the id of a request finds its line: operators all, a partner its own', async () => {
  const partner = await openPartner(house)
  await list(partner, '', { 'x-request-id': 'shared-name' })
  await list(own, '', { 'x-request-id': 'shared-name' })
  await callLog.flush()
  const now = house.clock.now()
  const find = (owner?: { branchId: number; environment: 'live' | 'sandbox' }) =>
    findCallsByRequest(db, 'shared-name', owner, now, 10)
  assert.equal((await find()).length, 2)
  const { branchId } = partner.partner
  assert.deepEqual(
    (await find({ branchId, environment: 'live' })).map((call) => call.branchId),
    [branchId],
  )
  assert.deepEqual(await find({ branchId, environment: 'sandbox' }), [])
})

const secret = 'cslkABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw'

test('a secret in an odd place is not written down', async () => {
  const { client } = own
  await callJson(`${house.baseUrl}/v2/webhooks`, 'POST', { url: 'https://x', [secret]: 1 }, basic(client))
  await token({ grant_type: secret, redirect_uri: `https://app.example.com/?t=${secret}` }, basic(client))
  await callJson(`${house.baseUrl}/v2/events?after=${secret}`, 'GET', undefined, basic(client))
  await callJson(`${house.baseUrl}/v2/nothing/${secret}`, 'GET', undefined, basic(client))
  await new Browser(house.baseUrl).get(`/v1/oauth/authorize?client_id=${client.id}&state=s&scope=${secret}`)
  await callLog.flush()
  assert.equal(await countRows(db, `calls c WHERE c::text LIKE '%${secret.slice(4, 40)}%'`), 0)
  assert.ok((await ofPartner(own)).length >= 5)
})

test('what cannot be traced to a client leaves no line', async () => {
  await callLog.flush()
  const count = await countRows(db, 'calls')
  await callJson(`${house.baseUrl}/v2/webhooks`, 'GET', undefined, basic({ id: 'A'.repeat(24), secret: 'x' }))
  await callJson(`${house.baseUrl}/v2/webhooks`)
  await callJson(`${house.baseUrl}/nowhere`)
  await new Browser(house.baseUrl).get('/login')
  await callLog.flush()
  assert.equal(await countRows(db, 'calls'), count)
})

const noted: Omit<Call, 'at' | 'requestId' | 'branchId' | 'clientId'> = {
  ...{ environment: 'live', isClaimed: false, network: '' },
  ...{
    method: 'GET',
    route: '/v2/webhooks',
    status: 200,
    durationMs: 1,
    failure: undefined,
    unmet: undefined,
  },
}
const failure = { code: 'not_found', cause: 'not-found', fields: [] } as const

test('a flood has a bounded number of lines, says how many it stands for, and hides no failed call', async () => {
  const partner = await openPartner(house)
  const { branchId } = partner.partner
  const clientId = partner.client.id
  const at = house.clock.now()
  for (let n = 0; n < 100_000; n++) callLog.note({ ...noted, at, branchId, clientId, requestId: `n-${n}` })
  callLog.note({ ...noted, at, branchId, clientId, status: 404, failure, requestId: 'failed' })
  const calls = await ofPartner(partner)
  const listed = calls.filter(({ code }) => code === null)
  assert.equal(listed.length, 501)
  assert.equal(
    listed.reduce((sum, { leftOut }) => sum + 1 + leftOut, 0),
    100_000,
  )
  assert.ok(calls.some(({ requestId }) => requestId === 'failed'))
  assert.match(await pageOf(partner), /and 99,499 calls before it, not listed/)
})

test('strangers who name a client hide neither its own calls nor each other’s', async () => {
  const partner = await openPartner(house)
  const { branchId } = partner.partner
  const clientId = partner.client.id
  const at = house.clock.now()
  const claim = { ...noted, at, branchId: undefined, isClaimed: true, status: 401, failure }
  for (let n = 0; n < 20_000; n++) {
    const network = `198.51.100.${n % 60}`
    callLog.note({ ...claim, network, clientId: String(n).padStart(24, 'A'), requestId: 'nobody' })
    callLog.note({ ...claim, network: `203.0.113.${n % 40}`, clientId, requestId: 'stranger' })
  }
  callLog.note({ ...claim, network: '192.0.2.1', clientId, requestId: 'claimed' })
  callLog.note({ ...noted, at, branchId, clientId, requestId: 'proven' })
  const calls = await ofPartner(partner)
  const ids = calls.map(({ requestId }) => requestId)
  assert.ok(ids.includes('claimed') && ids.includes('proven') && !ids.includes('nobody'))
  const strangers = calls.filter(({ requestId }) => requestId === 'stranger')
  assert.equal(strangers.length, 40 * 30 + 1)
  assert.equal(
    strangers.reduce((sum, { leftOut }) => sum + 1 + leftOut, 0),
    20_000,
  )
})

test('a line that cannot be written is lost alone', async () => {
  const partner = await openPartner(house)
  const call = {
    ...noted,
    at: house.clock.now(),
    branchId: partner.partner.branchId,
    clientId: partner.client.id,
  }
  for (let n = 0; n < 10; n++) callLog.note({ ...call, requestId: n === 4 ? 'with a space' : `n-${n}` })
  assert.equal((await ofPartner(partner)).length, 9)
})

/** Sends the head of a request and a part of its body, and hangs up. */
function breakOff(headers: Record<string, string>): Promise<void> {
  return new Promise((done) => {
    const request = connectTo(`${house.baseUrl}/v2/webhooks`, {
      ...{
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'content-length': '100' },
      },
    })
    request.on('error', () => done())
    request.on('close', () => done())
    request.flushHeaders()
    request.write('{"url":"https://x', () => request.destroy())
  })
}

test('remedies are right: a body cut short is not a wrong Content-Type, and neither is a connection that closed', async () => {
  const partner = await openPartner(house)
  const post = (body: string, type = 'application/json') =>
    send(`${house.baseUrl}/v2/webhooks`, {
      method: 'POST',
      headers: { ...basic(partner.client), 'content-type': type },
      body,
    })
  const causes: [string, string, string][] = [
    ['{"url":"https://x.exa', 'application/json', 'json-cut-short'],
    ['{"url":', 'application/json', 'json-cut-short'],
    ["{'url': 'https://x.example'}", 'application/json', 'no-json'],
    ['', 'application/json', 'no-body'],
    ['{"url":"https://x.example"}', 'text/plain', 'content-type'],
    ['{"url":"https://x.example"}', 'application/json; charset=latin1', 'charset'],
    [`{"url":"${'x'.repeat(70_000)}"}`, 'application/json', 'body-too-large'],
  ]
  for (const [body, type] of causes) await post(body, type)
  await breakOff(basic(partner.client))
  const expected = new Set([...causes.map(([, , cause]) => cause), 'body-broken-off'])
  await eventually('the broken call is listed', async () => (await ofPartner(partner)).length === 8)
  const calls = await ofPartner(partner)
  assert.deepEqual(new Set(calls.map(({ cause }) => cause)), expected)
  // Whoever hangs up may be gone before its credentials are looked at.
  assert.ok(calls.every(({ isClaimed, cause }) => !isClaimed || cause === 'body-broken-off'))
  const cut = calls.find(({ cause }) => cause === 'json-cut-short')!
  const { text } = await partner.browser.get(`${partner.home}/calls/${cut.id}`)
  assert.match(text, /its JSON ends in the middle/)
  assert.doesNotMatch(text, /Content-Type/)
})

test('a token that has ended is still known as its client’s, and proves nothing', async () => {
  const partner = await openPartner(house)
  const code = await house.makeCode(partner.client)
  const { access_token } = (await house.exchange(partner.client, code)).json<TokenBody>()
  await house.profile(access_token)
  await token({ token: access_token }, basic(partner.client))
  await postForm(`${house.baseUrl}/v1/oauth/revoke`, { token: access_token }, basic(partner.client))
  await house.profile(access_token)
  const calls = (await ofPartner(partner)).filter(({ route }) => route === '/v1/user/profile')
  assert.deepEqual(
    new Set(calls.map(({ status, cause, isClaimed }) => `${status} ${cause} ${isClaimed}`)),
    new Set(['200 null false', '401 token-ended true']),
  )
})

test('no header, value of a query or text of a body is ever in the log, whichever endpoint it was sent to', async () => {
  const canary = 'Canary7yellowbird'
  const document = await readDocument(house.baseUrl)
  for (const { method, path } of operationsOf(document)) {
    const address = `${house.baseUrl}${path.replaceAll(/\{\w+\}/g, '1')}?scope=${canary}&limit=${canary}&state=${canary}`
    const headers = { ...basic(own.client), cookie: canary, 'x-odd': canary, 'idempotency-key': canary }
    const verb = method.toUpperCase() as 'POST'
    for (const type of ['application/json', 'application/x-www-form-urlencoded', `text/${canary}`])
      await send(address, {
        ...{ method: verb, headers: { ...headers, 'content-type': type } },
        ...(verb !== ('GET' as string) && {
          body: type.endsWith('json') ? JSON.stringify({ url: canary, code: [canary] }) : `code=${canary}`,
        }),
      })
  }
  await send(
    `${house.baseUrl}/v1/oauth/authorize?client_id=${own.client.id}&scope=${canary}&redirect_uri=${canary}`,
  )
  await callLog.flush()
  assert.equal(await countRows(db, `calls c WHERE c::text ILIKE '%${canary}%'`), 0)
  const routes = new Set((await ofPartner(own)).map(({ route }) => route))
  assert.ok(routes.size > 25, `${routes.size}`)
})

test('another node has its lines in the same log, and a node that is closed leaves what it had', async () => {
  const partner = await openPartner(house)
  const node = await openSecondNode(house)
  await callJson(`${node.baseUrl}/v2/webhooks`, 'GET', undefined, {
    ...basic(partner.client),
    'x-request-id': 'on-another-node',
  })
  await node.close()
  assert.deepEqual(
    (await ofPartner(partner)).map(({ requestId }) => requestId),
    ['on-another-node'],
  )
})

test('a call is listed for 24 hours, and then leaves with its whole day', async () => {
  const partner = await openPartner(house)
  await list(partner)
  const [call] = await ofPartner(partner)
  house.clock.advance(23 * hour)
  await emptyNextCalls(db, house.clock.now())
  assert.equal((await ofPartner(partner)).length, 1)
  house.clock.advance(2 * hour)
  assert.equal((await ofPartner(partner)).length, 0)
  house.clock.advance(24 * hour)
  for (const _ of [1, 2]) {
    await emptyNextCalls(db, house.clock.now())
    house.clock.advance(24 * hour)
  }
  assert.equal(await countRows(db, `calls WHERE id = ${call!.id}`), 0)
})

test('the command line lists the same calls: by client, by partner, failed ones, and one request with its remedy', async () => {
  const line = await keepOpen(openCommandLineAt(house.settings, house.clock))
  const [mine, other] = [await openPartner(house), await openPartner(house)]
  await list(mine, '', { 'x-request-id': 'line-1' })
  house.clock.advance(second)
  await list(mine, '/999999', { 'x-request-id': 'line-2' })
  await list(other, '/999999', { 'x-request-id': 'line-2' })
  await callLog.flush()
  const read = async (...words: string[]) =>
    (await line.read<Record<string, unknown>[]>('calls', ...words)).map(({ request_id }) => request_id)
  assert.deepEqual(await read('--client', mine.client.id), ['line-2', 'line-1'])
  const partner = ['--partner', String(mine.partner.branchId)]
  assert.deepEqual(await read(...partner, '--failed'), ['line-2'])
  assert.deepEqual(await read(...partner, '--status', '2xx', '--limit', '1'), ['line-1'])
  assert.deepEqual(await read(...partner, '--environment', 'sandbox'), [])
  const found = await line.read<Record<string, unknown>[]>('calls', '--request', 'line-2')
  assert.deepEqual(
    new Set(found.map((call) => call.partner)),
    new Set([mine.partner.name, other.partner.name]),
    'an operator sees whose they are',
  )
  assert.match(String(found[0]!.remedy), /^Compare the id/)
  assert.equal((await line.read<unknown[]>('calls', ...partner, '--request', 'line-2')).length, 1)
  const shown = await line.run('calls', ...partner)
  assert.match(shown.stdout, /^at +status +method[\s\S]+404 +GET +\/v2\/webhooks\/:id/)
  assert.match((await line.fail('calls')).stderr, /--partner NAME\|ID, --client CLIENT or --request ID/)
  assert.match((await line.fail('calls', ...partner, '--status', 'bad')).stderr, /such as 404/)
})

/**
 * What an operator reads: one wide line a request and one an attempt, and the id that joins them to what the
 * caller was told.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { createService } from '../../src/services/service.ts'
import { transaction } from '../support/branch.ts'
import { postForm, send } from '../support/browser.ts'
import { openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { basic } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { type Line, openLogLines } from '../support/log-lines.ts'
import { answer, hang } from '../support/receiver.ts'

const log = openLogLines()
const engine = await keepOpen(openEngine({}, log.log))
const { house, client, branchId } = engine
const { baseUrl } = house

/** The line of the request that was given this id. */
function lineOf(requestId: string): Promise<Line> {
  return log.find((line) => line.msg === 'request' && line.request_id === requestId)
}

test('a request leaves one line: what was asked, who asked, what was answered, how long it took', async () => {
  const user = await house.makeUser()
  const code = await house.approve(client, await house.signIn(user))
  const { access_token } = (await house.exchange(client, code.get('code')!)).json<{ access_token: string }>()
  const headers = { authorization: `Bearer ${access_token}`, 'x-request-id': 'profile-1' }
  const given = await send(`${baseUrl}/v1/user/profile?x=1`, { headers })
  const { time, ms, ...line } = await lineOf('profile-1')
  assert.deepEqual(line, {
    level: 30,
    environment: 'live',
    request_id: 'profile-1',
    method: 'GET',
    route: '/v1/user/profile',
    address: '127.0.0.1',
    client: client.id,
    branch: branchId,
    user: user.id,
    status: 200,
    bytes_out: given.text.length,
    msg: 'request',
  })
  assert.ok(typeof ms === 'number' && ms >= 0 && !Number.isNaN(Date.parse(String(time))))
  assert.equal(log.lines.filter((each) => each.request_id === 'profile-1').length, 1)
})

test('every kind of caller is named by its id once it is recognised, and by nothing before', async () => {
  const { service, secret } = await createService(engine.db, 'Orders', 'live', house.act())
  const introspection = { token: 'x' }
  const url = `${baseUrl}/v1/oauth/introspect`
  const named = (id: string) => ({ 'x-request-id': id })
  await postForm(url, introspection, {
    ...basic({ id: service.id, secret: secret.text }),
    ...named('a-service'),
  })
  await postForm(url, introspection, { ...basic(client), ...named('a-client') })
  await postForm(url, introspection, { ...basic({ ...client, secret: 'wrong' }), ...named('a-liar') })
  await (await house.signIn(await house.makeUser('ada'))).get('/account', named('a-holder'))
  const whoOf = async (id: string) => {
    const { client, branch, user, service } = await lineOf(id)
    return { client, branch, user: typeof user, service }
  }
  const nobody = { client: undefined, branch: undefined, user: 'undefined', service: undefined }
  assert.deepEqual(await whoOf('a-service'), { ...nobody, service: service.id })
  assert.deepEqual(await whoOf('a-client'), { ...nobody, client: client.id, branch: branchId })
  assert.deepEqual(await whoOf('a-liar'), nobody)
  assert.deepEqual(await whoOf('a-holder'), { ...nobody, user: 'string' })
})

test('a refusal is named by its code, also where it left as a redirect', async () => {
  const named = (id: string) => ({ headers: { 'x-request-id': id } })
  await send(`${baseUrl}/v1/user/profile`, named('no-token'))
  await send(`${baseUrl}/no/such/address`, named('no-route'))
  await send(
    `${baseUrl}/v1/oauth/authorize?client_id=${client.id}&state=s&scope=everything`,
    named('no-scope'),
  )
  await postForm(
    `${baseUrl}/v1/oauth/accesstoken`,
    { grant_type: 'x' },
    { ...basic(client), 'x-request-id': 'no-grant' },
  )
  assert.equal((await lineOf('no-token')).refusal, 'unauthorized')
  assert.deepEqual(
    [(await lineOf('no-route')).route, (await lineOf('no-route')).refusal],
    ['none', 'not_found'],
  )
  assert.deepEqual(
    [(await lineOf('no-scope')).status, (await lineOf('no-scope')).refusal],
    [302, 'invalid_scope'],
  )
  const refused = await lineOf('no-grant')
  assert.deepEqual([refused.refusal, refused.bytes_in], ['unsupported_grant_type', 'grant_type=x'.length])
})

test('an address that no route can hold is not found, and leaves no trace of itself', async () => {
  for (const path of [`/v2/webhooks/${'precious'.repeat(20)}`, '/%zzprecious']) {
    const answer = await send(`${baseUrl}${path}`, { headers: { accept: 'application/json' } })
    assert.ok(answer.status === 404 || answer.status === 400, answer.text)
    const { request_id } = answer.json<{ request_id: string }>()
    assert.equal(answer.headers['x-request-id'], request_id)
    assert.equal((await lineOf(request_id)).status, answer.status)
  }
  assert.ok(!JSON.stringify(log.lines).includes('precious'))
})

test('what is no HTTP is answered with an id too, and leaves its line', async () => {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  socket.end('NONSENSE\r\n\r\n')
  let heard = ''
  socket.setEncoding('utf8').on('data', (text) => {
    heard += text
  })
  await once(socket, 'close')
  const requestId = /x-request-id: (\S+)/.exec(heard)![1]!
  assert.equal(JSON.parse(heard.slice(heard.indexOf('{'))).request_id, requestId)
  const line = await lineOf(requestId)
  assert.deepEqual([line.status, line.refusal, line.address], [400, 'invalid_request', '127.0.0.1'])
})

test('who leaves before the answer leaves a line', async () => {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  const head = ['GET /v2/events HTTP/1.1', 'host: x', 'accept: text/event-stream', 'x-request-id: impatient']
  socket.write(`${[...head, `authorization: ${basic(client).authorization}`].join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  socket.destroy()
  const line = await lineOf('impatient')
  assert.deepEqual([line.route, line.client, line.aborted], ['/v2/events', client.id, true])
})

test('an id from outside is kept when it is one, and replaced when it could be something else', async () => {
  const idFor = async (id: string) =>
    (await send(`${baseUrl}/v1/user/profile`, { headers: { 'x-request-id': id } })).headers['x-request-id']
  for (const id of ['caller-7.a_B', crypto.randomUUID(), 'a'.repeat(40)]) assert.equal(await idFor(id), id)
  const token = await house.makeToken(await house.makeUser())
  for (const id of [token, client.secret, 'a'.repeat(41), 'two words', 'ü', '<b>', '']) {
    const given = String(await idFor(id))
    assert.notEqual(given, id)
    assert.equal((await lineOf(given)).refusal, 'unauthorized')
  }
})

test('an attempt leaves one line: which delivery of what to whom, what came of it, what took how long, what follows', async () => {
  engine.receiver.on('/well', answer(204))
  engine.receiver.on('/ill', answer(503))
  const well = await engine.makeWebhook('/well')
  const ill = await engine.makeWebhook('/ill')
  const gone = await engine.makeWebhook('http://127.0.0.1:9/')
  const [event] = await engine.publish({ entity: 'transaction:77' })
  const lineAt = (webhook: { id: number }) =>
    log.find((line) => line.msg === 'attempt' && line.webhook === webhook.id)
  const good = await lineAt(well)
  assert.equal(good.event, `evt_${event!.uid.replaceAll('-', '')}`)
  assert.deepEqual([good.branch, good.attempt, good.outcome, good.status], [branchId, 1, 'accepted', 204])
  assert.deepEqual([good.state, good.next_attempt_at], ['delivered', undefined])
  for (const part of ['waited_ms', 'connect_ms', 'answer_ms', 'ms']) assert.ok(Number(good[part]) >= 0, part)
  assert.ok(Number(good.connect_ms) <= Number(good.answer_ms) && Number(good.answer_ms) <= Number(good.ms))
  const bad = await lineAt(ill)
  assert.deepEqual([bad.outcome, bad.status, bad.state], ['refused', 503, 'waiting'])
  await eventually('it is written down', async () => (await engine.deliveries(ill))[0]?.due_at != null)
  const [delivery] = await engine.deliveries(ill)
  assert.equal(bad.delivery, delivery!.id)
  assert.equal(bad.next_attempt_at, delivery!.due_at!.toISOString())
  const none = await lineAt(gone)
  assert.deepEqual(
    [none.outcome, none.why, none.status, none.answer_ms],
    ['unreachable', 'connection', undefined, undefined],
  )
})

test('a log that nobody reads costs no request a hook', async () => {
  const quiet = openLogLines('warn')
  const silent = await openEngine({}, quiet.log)
  await send(`${silent.house.baseUrl}/v1/user/profile`)
  await silent.close()
  assert.deepEqual(quiet.lines, [])
})

test('who leaves after having sent a body leaves a line too', async () => {
  engine.receiver.on('/hangs', hang)
  await engine.makeWebhook('/hangs')
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  const body = JSON.stringify(transaction({ branchId: engine.branchId }))
  const head = [
    'POST /v2/webhooks/transaction HTTP/1.1',
    ...['host: x', 'content-type: application/json', `content-length: ${body.length}`, 'prefer: wait=20'],
    ...['x-request-id: left-late', `authorization: ${basic(client).authorization}`],
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  await engine.receiver.count('/hangs', 1)
  socket.destroy()
  const line = await lineOf('left-late')
  assert.deepEqual([line.route, line.client, line.aborted], ['/v2/webhooks/transaction', client.id, true])
})

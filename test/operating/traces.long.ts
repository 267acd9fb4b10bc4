/** Traces from publish to attempt, as a collector of OpenTelemetry sees them. */
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { test } from 'node:test'
import { createService } from '../../src/services/service.ts'
import { callJson, transaction } from '../support/branch.ts'
import { type Answer, send } from '../support/browser.ts'
import { happened } from '../support/by-hand.ts'
import { type CollectedSpan, openCollector } from '../support/collector.ts'
import { type Engine, eventOf, openEngine } from '../support/engine.ts'
import { basic } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLogLines } from '../support/log-lines.ts'
import { answer } from '../support/receiver.ts'

const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    loaded.push(url)
    return next(url, context)
  },
})

const credential = 'a credential of the collector'

const collector = await keepOpen(openCollector())

function settingsFor(url: string): NodeJS.ProcessEnv {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encodeURIComponent(credential)}`,
    OTEL_SERVICE_NAME: 'gateway-under-test',
  }
}

function traceparentOf(digit: string, flags = '01'): string {
  return `00-${digit.repeat(32)}-${digit.repeat(16)}-${flags}`
}

async function openPublisherAt(engine: Engine) {
  const { house, db, branchId } = engine
  const { service, secret } = await createService(db, 'Ledger', 'live', house.act())
  const credentials = basic({ id: service.id, secret: secret.text })
  return {
    secret: secret.text,
    publish: (headers: Record<string, string> = {}): Promise<Answer> =>
      callJson(
        `${house.internalUrl}/internal/v1/events`,
        'POST',
        { events: [{ ...transaction(), branchId }] },
        {
          ...credentials,
          ...headers,
        },
      ),
  }
}

/** A gateway without an address for traces, through one delivery; before any other gateway is opened here. */
async function deliverUntraced() {
  const engine = await openEngine({ OTEL_SERVICE_NAME: 'nobody' })
  await engine.makeWebhook('/hooks')
  const { publish } = await openPublisherAt(engine)
  const { status } = await publish({ traceparent: traceparentOf('a') })
  await engine.receiver.count('/hooks', 1)
  const events = await engine.sql<{ traceparent: string | null }>('SELECT traceparent FROM log')
  await engine.close()
  return {
    status,
    events,
    loaded: loaded.filter((url) => /open-telemetry|@opentelemetry\/(sdk|exporter|otlp)/.test(url)),
  }
}

const untraced = await deliverUntraced()

const log = openLogLines()
const engine = await keepOpen(openEngine(settingsFor(collector.url), log.log))
const ledger = await openPublisherAt(engine)

/** The spans of a trace, by name, once all of these have come. */
function spansOf(traceId: string, ...names: string[]): Promise<CollectedSpan[]> {
  return collector.until(`${names} of ${traceId}`, () => {
    const found = names.map((name) =>
      collector.spans.find((span) => span.traceId === traceId && span.name === name),
    )
    return found.every((span) => span !== undefined) && (found as CollectedSpan[])
  })
}

const publishing = 'POST /internal/v1/events'

test('without an address nothing of OpenTelemetry is loaded, and no event has a span', () => {
  assert.deepEqual(untraced, { status: 202, events: [{ traceparent: null }], loaded: [] })
})

test('with one it is loaded', () => {
  assert.ok(loaded.some((url) => url.includes('@opentelemetry/sdk-trace')))
})

test('an event is one trace, from its publisher through the gateway to the attempt', async () => {
  engine.receiver.on('/well', answer(204))
  const webhook = await engine.makeWebhook('/well')
  const published = await ledger.publish({ traceparent: traceparentOf('a'), 'x-request-id': 'published-1' })
  const [eventId] = published.json<{ eventIds: string[] }>().eventIds
  const spans = await spansOf('a'.repeat(32), publishing, 'attempt')
  const [publish, attempt] = spans as [CollectedSpan, CollectedSpan]
  assert.equal(publish.parentSpanId, 'a'.repeat(16))
  assert.equal(attempt.parentSpanId, publish.spanId)
  assert.equal(publish.attributes['http.response.status_code'], 202)
  assert.equal(publish.attributes['countersign.request'], 'published-1')
  const [delivery] = await engine.deliveries(webhook)
  assert.deepEqual(attempt.attributes, {
    'countersign.delivery': delivery!.id,
    'countersign.event': eventId,
    'countersign.webhook': webhook.id,
    'countersign.branch': engine.branchId,
    'countersign.attempt': 1,
    'countersign.outcome': 'accepted',
    'countersign.state': 'delivered',
    'http.response.status_code': 204,
  })
  assert.deepEqual([publish.failed, attempt.failed, attempt.service], [false, false, 'gateway-under-test'])
  for (const span of spans) {
    const { startMs, endMs } = span
    assert.ok(Math.abs(Date.now() - startMs) < 60_000 && endMs >= startMs, span.name)
  }
  const line = await log.find((each) => each.request_id === 'published-1')
  assert.equal(line.trace_id, 'a'.repeat(32))
})

test('receivers are told of no trace: they are outside', () => {
  const [received] = engine.receiver.at('/well')
  assert.deepEqual(
    Object.keys(received!.headers).filter((name) => /^trace|baggage|b3/.test(name)),
    [],
  )
})

test('an attempt that fails marks its span and says why, and the next one is in the same trace', async () => {
  engine.receiver.on('/ill', answer(500))
  const ill = await engine.makeWebhook('/ill')
  const gone = await engine.makeWebhook('http://127.0.0.1:9/')
  const traceId = 'b'.repeat(32)
  await ledger.publish({ traceparent: traceparentOf('b') })
  const attemptAt = (webhook: { id: number }, number: number) =>
    collector.until(`attempt ${number} at ${webhook.id}`, () =>
      collector.spans.find(
        ({ name, attributes }) =>
          name === 'attempt' &&
          attributes['countersign.webhook'] === webhook.id &&
          attributes['countersign.attempt'] === number,
      ),
    )
  const refused = await attemptAt(ill, 1)
  assert.deepEqual([refused.failed, refused.attributes['http.response.status_code']], [true, 500])
  const unreachable = await attemptAt(gone, 1)
  assert.deepEqual([unreachable.failed, unreachable.attributes['error.type']], [true, 'connection'])
  while ((await engine.attempts(ill)).length < 2) {
    await engine.idle()
    await engine.advanceToNextLook()
  }
  const again = await attemptAt(ill, 2)
  assert.deepEqual([refused.traceId, unreachable.traceId, again.traceId], [traceId, traceId, traceId])
})

test('a caller without a trace, or with nonsense for one, begins a new one; a caller who is not sampled stays so', async () => {
  const publishes = () => collector.spans.filter((span) => span.name === publishing)
  const before = publishes().length
  await ledger.publish({ traceparent: traceparentOf('c', '00') })
  await ledger.publish({ traceparent: 'nonsense' })
  await ledger.publish()
  await collector.until('two new traces', () => publishes().length === before + 2)
  const fresh = publishes().slice(before)
  assert.deepEqual(
    fresh.map((span) => span.parentSpanId || undefined),
    [undefined, undefined],
  )
  assert.notEqual(fresh[0]!.traceId, fresh[1]!.traceId)
  assert.ok(!collector.spans.some((span) => span.traceId === 'c'.repeat(32)))
})

test('asking again with the same idempotency key, under another span, is answered as before', async () => {
  const body = { events: [{ ...transaction(), branchId: engine.branchId }] }
  const { service, secret } = await createService(engine.db, 'Again', 'live', engine.house.act())
  const publish = (traceparent: string) =>
    callJson(`${engine.house.internalUrl}/internal/v1/events`, 'POST', body, {
      ...basic({ id: service.id, secret: secret.text }),
      'idempotency-key': 'once',
      traceparent,
    })
  const [first, second] = [await publish(traceparentOf('d')), await publish(traceparentOf('e'))]
  assert.deepEqual([first.status, second.status, second.text], [202, 202, first.text])
})

test('a refusal is in its span by its code, an address that was asked for is not', async () => {
  const token = await engine.house.makeToken(await engine.house.makeUser())
  const { baseUrl } = engine.house
  await send(`${baseUrl}/v1/user/profile?access_token=${token}`, {
    headers: { traceparent: traceparentOf('f') },
  })
  await send(`${baseUrl}/${token}`, {
    headers: { authorization: `Bearer ${token}`, traceparent: traceparentOf('1') },
  })
  await send(`${baseUrl}/healthz`, { headers: { traceparent: traceparentOf('2') } })
  const [refused] = await spansOf('f'.repeat(32), 'GET /v1/user/profile')
  assert.deepEqual([refused!.attributes['error.type'], refused!.failed], ['unauthorized', false])
  await spansOf('1'.repeat(32), 'GET none')
  for (const secret of [token, ledger.secret, engine.client.secret])
    assert.ok(!collector.text.includes(secret))
  assert.ok(!collector.text.includes(engine.receiver.url('')))
  assert.ok(!collector.text.includes('2'.repeat(32)), 'health checks have no span')
})

test('the collector is asked at /v1/traces, with the headers that were set', () => {
  assert.ok(collector.requests.length > 0)
  for (const { path, headers } of collector.requests)
    assert.deepEqual(
      [path, headers.authorization, headers['content-type']],
      ['/v1/traces', credential, 'application/json'],
    )
})

test('events that are stored together keep the span that each was published under', async () => {
  const { publisher } = engine.house.gateway.context
  const now = engine.house.clock.now()
  const draft = (entity: string) => eventOf(engine.branchId, { entity: `stored:${entity}` })
  await Promise.all([
    publisher.publish([draft('1'), draft('2')], now, { traceparent: traceparentOf('7') }),
    publisher.publish([draft('3')], now),
    publisher.publish([draft('4')], now, { traceparent: traceparentOf('8') }),
  ])
  const rows = await engine.sql<{ traceparent: string | null }>(
    `SELECT traceparent FROM ${happened} WHERE entity LIKE 'stored:%' ORDER BY entity`,
  )
  assert.deepEqual(
    rows.map((row) => row.traceparent),
    [traceparentOf('7'), traceparentOf('7'), null, traceparentOf('8')],
  )
  await engine.sql(`SELECT publish_event('live', $1, 'ACH_PROFILE', 'PENDING', '5', $2)`, [
    engine.branchId,
    `{"profileId":5,"clearingAccount":"1234","type":"ACH_PROFILE","action":"PENDING","branchId":${engine.branchId}}`,
  ])
  const [own] = await engine.sql<{ traceparent: string | null }>(
    `SELECT traceparent FROM ${happened} WHERE entity = 'ach_profile:5'`,
  )
  assert.equal(own!.traceparent, null, 'what is published by SQL has no span')
})

test('a collector that hangs, refuses or is gone delays no request and no close, and is complained about once', async () => {
  for (const how of ['hang', 400, 'gone'] as const) {
    const bad = await openCollector()
    const quiet = openLogLines()
    if (how !== 'gone') bad.answer(how)
    const house = await openEngine(settingsFor(bad.url), quiet.log)
    const { publish } = await openPublisherAt(house)
    if (how === 'gone') await bad.close()
    await house.makeWebhook('/hooks')
    assert.equal((await publish()).status, 202)
    await house.receiver.count('/hooks', 1)
    if (how === 'hang') await bad.until('an export that hangs', () => bad.requests.length > 0)
    if (how === 400) await quiet.find((line) => line.msg === 'traces do not reach their collector')
    assert.equal((await publish()).status, 202)
    const started = performance.now()
    await house.close()
    assert.ok(performance.now() - started < 8_000, `${how}: ${performance.now() - started} ms`)
    assert.ok(quiet.lines.filter((line) => line.msg === 'traces do not reach their collector').length <= 1)
    assert.ok(!JSON.stringify(quiet.lines).includes(credential))
    if (how !== 'gone') await bad.close()
  }
})

test('spans that nobody fetches in time are dropped beyond 4,096, and those that wait are sent at the close', async () => {
  const slow = await openCollector()
  const house = await openEngine(settingsFor(slow.url))
  const { tracing } = house.house.gateway.context
  const answered = {
    method: 'GET',
    route: '/',
    requestId: 'r',
    who: undefined,
    refusal: undefined,
    status: 200,
  }
  for (let made = 0; made < 10_000; made++) tracing!.openRequest('live', 'flood', undefined).end(answered)
  await house.close()
  const arrived = slow.spans.filter((span) => span.name === 'flood').length
  assert.ok(arrived >= 4_096 && arrived <= 4_096 + 512, `${arrived} spans`)
  await slow.close()
})

test('what waits is sent when the gateway closes', async () => {
  const last = await openCollector()
  const house = await openEngine(settingsFor(last.url))
  await send(`${house.house.baseUrl}/v1/user/profile`)
  await house.close()
  assert.ok(last.spans.some((span) => span.name === 'GET /v1/user/profile'))
  await last.close()
})

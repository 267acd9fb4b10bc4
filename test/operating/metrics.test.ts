/** What Prometheus reads: true figures, and nothing that a stranger could have put there. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { markAway, markThere } from '../../src/identity/providers.sql.ts'
import { applyAsPartner } from '../../src/partners/partner.ts'
import { send } from '../support/browser.ts'
import { openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'
import { registerUpstream } from '../support/upstream.ts'

const engine = await keepOpen(openEngine({ METRICS_PORT: '0' }))
const { gateway } = engine.house

async function scrape(): Promise<string> {
  const answer = await fetch(gateway.metricsUrl!)
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type')!, /^text\/plain/)
  return answer.text()
}

/** The value of the one series that has this name and these labels. */
function readValue(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const line = text
    .split('\n')
    .find((each) => new RegExp(`^${name}[ {]`).test(each) && wanted.every((part) => each.includes(part)))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

test('requests are counted by route, not by what was asked for', async () => {
  await send(`${engine.house.baseUrl}/v1/user/profile`)
  await send(`${engine.house.baseUrl}/no/such/address/secret-in-the-path`)
  const text = await scrape()
  const labels = { site: 'live', method: 'GET', route: '/v1/user/profile', status: '401' }
  assert.equal(readValue(text, 'countersign_http_requests_total', labels), 1)
  assert.equal(readValue(text, 'countersign_http_requests_total', { route: 'none', status: '404' }), 1)
  assert.equal(readValue(text, 'countersign_http_request_seconds_count', { route: '/v1/user/profile' }), 1)
  assert.doesNotMatch(text, /secret-in-the-path/)
})

test('attempts are counted by outcome, and arrivals are timed from the publishing', async () => {
  engine.receiver.on('/well', (_request, response) => void response.writeHead(200).end())
  engine.receiver.on('/ill', (_request, response) => void response.writeHead(500).end())
  await engine.makeWebhook('/well')
  await engine.makeWebhook('/ill')
  await engine.publish({ entity: 'transaction:1' })
  await eventually('both attempts', async () => {
    const text = await scrape()
    // On a slow machine a refused one has been tried again by now.
    return ['accepted', 'refused'].every(
      (outcome) => (readValue(text, 'countersign_attempts_total', { outcome }) ?? 0) >= 1,
    )
  })
  const text = await scrape()
  assert.equal(readValue(text, 'countersign_attempt_seconds_count', { outcome: 'accepted' }), 1)
  assert.equal(readValue(text, 'countersign_event_arrival_seconds_count'), 1)
})

test('depths come from the database, connections from the pool', async () => {
  await eventually(
    'the retry shows as waiting',
    async () => readValue(await scrape(), 'countersign_waiting_deliveries') === 1,
  )
  const text = await scrape()
  assert.equal(readValue(text, 'countersign_outbox_events'), 0)
  assert.equal(readValue(text, 'countersign_blocked_deliveries'), 0)
  assert.equal(readValue(text, 'countersign_webhooks', { condition: 'breaker open' }), 0)
  assert.ok(readValue(text, 'countersign_database_connections', { pool: 'main', state: 'idle' })! >= 0)
  assert.ok(readValue(text, 'countersign_database_connections', { pool: 'streams', state: 'idle' })! >= 0)
})

test('the sites that partners reach have no /metrics, and the metrics server has nothing else', async () => {
  assert.equal((await send(`${engine.house.baseUrl}/metrics`)).status, 404)
  const origin = new URL(gateway.metricsUrl!).origin
  assert.equal((await fetch(`${origin}/`)).status, 404)
  assert.equal((await fetch(gateway.metricsUrl!, { method: 'POST' })).status, 405)
})

test('the dashboard and the alert rules ask only for what there is', async () => {
  const text = await scrape()
  const known = new Set([...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].map((match) => match[1]!))
  for (const file of ['ops/grafana-dashboard.json', 'ops/alerts.yaml']) {
    const asked = [...readFileSync(file, 'utf8').matchAll(/\bcountersign_[a-z0-9_]+/g)].map(
      (match) => match[0],
    )
    assert.ok(asked.length > 5, file)
    for (const name of asked)
      assert.ok(known.has(name.replace(/_(bucket|count|sum)$/, '')) || known.has(name), `${file}: ${name}`)
  }
})

test('rates are of what only grows, differences of what also falls', async () => {
  const kinds = new Map(
    [...(await scrape()).matchAll(/^# TYPE (\S+) (\S+)/gm)].map((match) => [match[1]!, match[2]!]),
  )
  const kindOf = (name: string) => kinds.get(name) ?? kinds.get(name.replace(/_(bucket|count|sum)$/, ''))
  for (const file of ['ops/grafana-dashboard.json', 'ops/alerts.yaml']) {
    const used = [
      ...readFileSync(file, 'utf8').matchAll(
        /\b(rate|irate|increase|resets|delta|idelta|deriv)\((countersign_\w+)/g,
      ),
    ]
    assert.ok(used.length > 2, file)
    for (const [, how, name] of used) {
      const grows = ['rate', 'irate', 'increase', 'resets'].includes(how!)
      assert.equal(kindOf(name!) !== 'gauge', grows, `${file}: ${how}(${name}), which is a ${kindOf(name!)}`)
    }
  }
})

test('a provider that is away, and a request that waits for a decision, are told with how long they have', async () => {
  const { house, db } = engine
  const { id } = await registerUpstream(house, { issuer: 'https://sign-in.bank.example' }, 'bank')
  await applyAsPartner(db, 'Hopeful', house.act())
  const read = async () => {
    const text = await scrape()
    const away = readValue(text, 'countersign_provider_away_seconds', { provider: 'bank' })
    const waits = (kind: string) => readValue(text, 'countersign_approval_waiting_seconds', { kind })
    return [away, waits('application'), waits('proposal'), waits('import')]
  }
  assert.deepEqual(await read(), [0, 0, 0, 0])
  await db.query(markAway, { id, lookedAt: house.clock.now(), awayWhy: 'it does not answer' })
  house.clock.advance(90_000)
  assert.deepEqual(await read(), [90, 90, 0, 0])
  await db.query(markThere, { id, lookedAt: house.clock.now() })
  assert.equal((await read())[0], 0)
})

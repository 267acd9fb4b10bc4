/** Traces from publish to attempt, as a collector of OpenTelemetry sees them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventOf, openEngine } from '../support/engine.ts'

const engine = await openEngine()
after(() => engine.close())
const { publisher } = engine.house.gateway.context

function traceparentOf(digit: string): string {
  return `00-${digit.repeat(32)}-${digit.repeat(16)}-01`
}

test('events that are stored together keep the span that each was published under', async () => {
  const now = engine.house.clock.now()
  const draft = (entity: string) => eventOf(engine.branchId, { entity })
  await Promise.all([
    publisher.publish([draft('transaction:1'), draft('transaction:2')], now, traceparentOf('a')),
    publisher.publish([draft('transaction:3')], now),
    publisher.publish([draft('transaction:4')], now, traceparentOf('b')),
  ])
  await engine.sql(`SELECT publish_event('live', $1, 'TRANSACTION', 'COMPLETED', '5', '{}')`, [engine.branchId])
  const rows = await engine.sql<{ entity: string; traceparent: string | null }>(
    'SELECT entity, traceparent FROM events ORDER BY entity',
  )
  assert.deepEqual(
    rows.map((row) => row.traceparent),
    [traceparentOf('a'), traceparentOf('a'), null, traceparentOf('b'), null],
  )
})

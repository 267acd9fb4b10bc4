import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTraceparent, printTraceparent } from './traceparent.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test('what is parsed is printed as it was', () => {
  for (const flags of ['00', '01']) {
    const text = `00-${traceId}-${spanId}-${flags}`
    assert.equal(printTraceparent(parseTraceparent(text)!), text)
  }
})

test('of the flags only "sampled" is taken over, and later versions may say more', () => {
  for (const text of [`00-${traceId}-${spanId}-ff`, `cc-${traceId}-${spanId}-01-what-the-future-brings`])
    assert.equal(printTraceparent(parseTraceparent(text)!), `00-${traceId}-${spanId}-01`)
})

test('anything else is no trace', () => {
  for (const text of [
    '',
    traceId,
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${spanId}-01\n`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  ])
    assert.equal(parseTraceparent(text), undefined, text)
})

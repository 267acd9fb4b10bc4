import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMessage, readFrames } from '../../test/support/audit-collectors.ts'
import { linesOf, type StreamedBlock } from '../audit/stream-line.ts'
import { mostBytes, printFrames, printMessage } from './syslog-message.ts'

const hash = Buffer.alloc(32, 1)
const entry = {
  ...{ id: 51, at: new Date('2026-03-02T10:00:00.123Z'), actor: 'operator:olga', action: 'client.updated' },
  ...{ subject: 'client:1', environment: 'live', address: '192.0.2.7', requestId: null, details: '{"a": 1}' },
} as const

function blockOf(more: Partial<typeof entry> | Record<string, string>): StreamedBlock {
  const entries = [{ ...entry, ...more }]
  return {
    position: 17,
    previous: hash,
    size: 1,
    root: hash,
    hash,
    entries,
    head: { at: entry.at, signature: hash },
  }
}
const first = (more = {}) => printMessage(linesOf(blockOf(more))[0]!, 'auth.example.com')

test('a message has the head of RFC 5424, the fields, and the line behind a byte order mark', () => {
  const message = first()
  assert.equal(
    message.slice(0, message.indexOf('\uFEFF')),
    '<110>1 2026-03-02T10:00:00.123Z auth.example.com countersign - client.updated [audit@32473 block="17" index="0" id="51" actor="operator:olga" subject="client:1" environment="live" address="192.0.2.7"] ',
  )
  assert.deepEqual(JSON.parse(parseMessage(message).text).details, { a: 1 })
})

test('blocks and heads are messages too, and frames count bytes', () => {
  const frames = readFrames(printFrames([blockOf({ subject: 'client:€ü𝒳' })], 'h'))
  const messages = frames.map(parseMessage)
  assert.deepEqual(
    messages.map(({ name, at, text }) => [name, at, JSON.parse(text).kind]),
    [
      ['client.updated', '2026-03-02T10:00:00.123Z', 'entry'],
      ['audit.block', '-', 'block'],
      ['audit.head', '2026-03-02T10:00:00.123Z', 'head'],
    ],
  )
  assert.equal(messages[0]!.fields.subject, 'client:€ü𝒳')
})

test('what would end a field, a message or a frame early ends nothing', () => {
  const odd = '"] x="1"\\][y z="2"\n<110>1 - - - - - -\r\0\u0085 \ud800 ]'
  const frames = readFrames(
    printFrames([blockOf({ actor: odd, subject: odd, action: 'a b\n]"[é' })], 'ho st\n'),
  )
  assert.equal(frames.length, 3)
  const { fields, name, host } = parseMessage(frames[0]!)
  assert.equal(fields.actor, '"] x="1"\\][y z="2" <110>1 - - - - - -    \uFFFD ]')
  assert.deepEqual([name, host], ['ab]"[', 'host'])
  assert.equal(parseMessage(first({ action: '\n' })).name, '-')
  assert.equal(parseMessage(first({ action: 'x'.repeat(40) })).name.length, 32)
})

test('a message is never longer than receivers take: its line is left out, and it says so', () => {
  for (const length of [7_000, 8_000, 20_000, 300_000])
    for (const letter of ['x', '€']) {
      const message = first({ details: `{"a": "${letter.repeat(length)}"}` })
      assert.ok(Buffer.byteLength(message) <= mostBytes, `${Buffer.byteLength(message)}`)
      const { fields, text } = parseMessage(message)
      assert.equal(fields.cut === 'line', text === '')
    }
  const long = 'x'.repeat(100_000)
  assert.ok(
    Buffer.byteLength(first({ actor: long, subject: long, address: long, requestId: long })) <= mostBytes,
  )
  const wide = '€"'.repeat(100_000)
  assert.ok(
    Buffer.byteLength(first({ actor: wide, subject: wide, address: wide, requestId: wide })) <= mostBytes,
  )
})

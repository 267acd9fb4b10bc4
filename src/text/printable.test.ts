import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/text.ts'
import { escapeLines, escapeText, unprintable } from './printable.ts'

test('what moves a cursor, turns words around or begins a line is shown by its code', () => {
  assert.equal(
    escapeText('a\x1b[2Jb\u202Ec\x9b1m\u2028d\ne\tf'),
    'a\\u001b[2Jb\\u202ec\\u009b1m\\u2028d\\ne\\tf',
  )
  assert.equal(escapeText('Zoë, Łódź, 東京, 😀'), 'Zoë, Łódź, 東京, 😀')
  assert.equal(escapeLines('one\ntwo\r\x07'), 'one\ntwo\\u000d\\u0007')
})

test('whatever is escaped has nothing left that could do it, and JSON still means the same', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      assert.doesNotMatch(escapeText(text), unprintable)
      assert.deepEqual(JSON.parse(escapeLines(JSON.stringify({ text }, null, 2))), { text })
    }),
  )
})

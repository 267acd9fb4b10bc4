import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/text.ts'
import { cut, printJson } from './cut.ts'

test('a character that does not fit whole is left out', () => {
  assert.equal(cut('abc😀', 4), 'abc')
  assert.equal(cut('abc😀', 5), 'abc😀')
  assert.equal(cut('😀', 1), '')
})

test('halves that came alone, and NUL, become the replacement character', () => {
  assert.equal(cut('a\uD83Db', 10), 'a\uFFFDb')
  assert.equal(cut('ab\uD83D', 3), 'ab\uFFFD')
  assert.equal(cut('a\0b', 10), 'a\uFFFDb')
})

test('whatever comes in, what comes out is no longer than asked for, well-formed and without NUL', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 40 }), fc.integer({ min: 0, max: 80 }), (text, most) => {
      const halves = text.split('').reverse().join('')
      for (const each of [text, halves]) {
        const short = cut(each, most)
        assert.ok(short.length <= most && short.isWellFormed() && !short.includes('\0'))
      }
    }),
  )
})

test('JSON holds no half of a character and no NUL, however deep', () => {
  assert.equal(
    printJson({ a: ['x\uD83D', { b: '\0' }], at: new Date(0) }),
    '{"a":["x\uFFFD",{"b":"\uFFFD"}],"at":"1970-01-01T00:00:00.000Z"}',
  )
})

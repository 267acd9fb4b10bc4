import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRecord, keysOf, recordOf } from './record-of.ts'

test('a record is made of its keys, and has them', () => {
  const lengths = recordOf(['one', 'three'], (word) => word.length)
  assert.deepEqual(lengths, { one: 3, three: 5 })
  assert.deepEqual(keysOf(lengths), ['one', 'three'])
})

test('what was inherited is no key', () => {
  assert.deepEqual(keysOf(Object.create({ inherited: true }, { own: { value: 1, enumerable: true } })), [
    'own',
  ])
})

test('an object has fields by name; a list, null and a text have none', () => {
  assert.deepEqual([{}, [], null, 'text', undefined].map(isRecord), [true, false, false, false, false])
})

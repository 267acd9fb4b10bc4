import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, messageOf } from './thrown.ts'

test('whatever was thrown has a message', () => {
  assert.deepEqual([new Error('away'), 'away', undefined].map(messageOf), ['away', 'away', 'undefined'])
})

test('a code is a text, or none', () => {
  const coded = Object.assign(new Error('away'), { code: 'ENOENT' })
  assert.deepEqual([coded, { code: 7 }, new Error('away'), null].map(codeOf), [
    'ENOENT',
    undefined,
    undefined,
    undefined,
  ])
})

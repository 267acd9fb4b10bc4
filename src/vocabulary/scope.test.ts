import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/text.ts'
import { covers, parseScopes, printScopes, type Scope, scopes } from './scope.ts'

const some = fc.subarray([...scopes], { minLength: 1 })
const separator = fc.stringMatching(/^[ ,]{1,3}$/)

test('scopes survive any order, any separators and any repetition', () => {
  const written = fc.tuple(some, fc.array(fc.nat()), fc.array(separator, { minLength: 20, maxLength: 20 }))
  fc.assert(
    fc.property(written, ([chosen, repeats, separators]) => {
      const words = [...chosen, ...repeats.map((index) => chosen[index % chosen.length]!)].reverse()
      const text = words.map((word, index) => word + separators[index % 20]).join('')
      const parsed = parseScopes(`, ${text}`)
      assert.deepEqual(parsed, { kind: 'scopes', scopes: scopes.filter((scope) => chosen.includes(scope)) })
    }),
  )
})

test('what is printed is parsed back to the same scopes, in the order of the specification', () => {
  fc.assert(
    fc.property(some, (chosen) => {
      const text = printScopes(chosen.toReversed())
      assert.deepEqual(parseScopes(text), { kind: 'scopes', scopes: chosen })
      assert.doesNotMatch(text, / {2}|^ | $|,/)
    }),
  )
})

test('one word that is no scope makes the whole text unknown, whatever stands beside it', () => {
  const known = new Set<string>(scopes)
  const stranger = anyText({ minLength: 1 }).filter((word) => !known.has(word) && !/[ ,]/.test(word))
  fc.assert(
    fc.property(some, stranger, fc.nat(), (chosen, word, place) => {
      const words: string[] = chosen.toSpliced(place % (chosen.length + 1), 0, word as Scope)
      assert.deepEqual(parseScopes(words.join(' ')), { kind: 'unknown', word })
    }),
  )
})

test('other cases, other blanks and other separators are not scopes', () => {
  for (const text of [
    'READ',
    'Read',
    'read\twrite',
    'read\nwrite',
    'read;write',
    'read+write',
    'read\u00a0',
    '__proto__',
  ]) {
    assert.equal(parseScopes(text).kind, 'unknown', text)
  }
})

test('a text without words names no scope', () => {
  for (const text of ['', ' ', ',', ' , ,, ']) assert.deepEqual(parseScopes(text), { kind: 'none' })
})

test('a grant covers exactly its subsets', () => {
  fc.assert(
    fc.property(fc.subarray([...scopes]), fc.subarray([...scopes]), (granted, asked) => {
      assert.equal(covers(granted, asked), asked.filter((scope) => !granted.includes(scope)).length === 0)
    }),
  )
})

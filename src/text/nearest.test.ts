import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countEdits, findNearest } from './nearest.ts'

test('letters put in, left out, replaced and swapped are an edit each', () => {
  const cases: [string, string, number][] = [
    ['list', 'list', 0],
    ['lst', 'list', 1],
    ['lisst', 'list', 1],
    ['lost', 'list', 1],
    ['lsit', 'list', 1],
    ['', 'list', 4],
    ['kitten', 'sitting', 3],
  ]
  for (const [one, other, edits] of cases) {
    assert.equal(countEdits(one, other), edits, `${one} ${other}`)
    assert.equal(countEdits(other, one), edits, `${other} ${one}`)
  }
})

test('the nearest word is suggested, and none when nothing is near', () => {
  const known = ['create', 'list', 'show', 'suspend']
  assert.equal(findNearest('suspned', known), 'suspend')
  assert.equal(findNearest('craete', known), 'create')
  assert.equal(findNearest('frobnicate', known), undefined)
  assert.equal(findNearest('x', known), undefined)
})

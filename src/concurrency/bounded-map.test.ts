import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap, bytesOf } from './bounded-map.ts'

const kilobytes = (count: number) => 'x'.repeat(count * 1_000)

test('a bounded map holds as many bytes as it may, and the oldest make room', () => {
  const map = new BoundedMap<number, { text: string }>(10_500)
  for (let key = 0; key < 100; key++) map.set(key, { text: kilobytes(1) })
  assert.equal(map.size, 9)
  assert.equal(map.has(90), false)
  assert.equal(map.get(91)?.text, kilobytes(1))
  assert.equal(map.get(99)?.text, kilobytes(1))
})

test('what is put in again is counted once, and what is taken out is not counted', () => {
  const map = new BoundedMap<string, string>(10_500)
  for (let time = 0; time < 100; time++) map.set('same', kilobytes(4))
  map.set('other', kilobytes(4))
  assert.equal(map.size, 2)
  map.delete('same')
  map.delete('same')
  map.set('third', kilobytes(4))
  assert.deepEqual([map.has('other'), map.has('third')], [true, true])
})

test('what is larger than the whole bound is not kept, and nothing else suffers for long', () => {
  const map = new BoundedMap<string, string>(10_500)
  map.set('large', kilobytes(11))
  assert.equal(map.size, 0)
  map.set('small', kilobytes(1))
  assert.equal(map.get('small'), kilobytes(1))
})

test('bytes are counted through everything that is held', () => {
  assert.ok(bytesOf(kilobytes(1)) >= 1_000)
  assert.ok(bytesOf('\u4e00'.repeat(1_000)) >= 2_000)
  assert.ok(bytesOf(Buffer.alloc(5_000)) >= 5_000)
  assert.ok(bytesOf({ list: [kilobytes(1), kilobytes(1)], nested: { text: kilobytes(1) } }) >= 3_000)
})

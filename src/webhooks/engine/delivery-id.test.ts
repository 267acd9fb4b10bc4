import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseDeliveryId, printDeliveryId } from './delivery-id.ts'

test('a delivery is named by its webhook, its entry and its round', () => {
  assert.equal(printDeliveryId({ webhookId: 12, seq: 345, round: 0 }), '12-345')
  assert.equal(printDeliveryId({ webhookId: 12, seq: 345, round: 2 }), '12-345-2')
  assert.deepEqual(parseDeliveryId('12-345'), { webhookId: 12, seq: 345, round: 0 })
  assert.deepEqual(parseDeliveryId('12-345-2'), { webhookId: 12, seq: 345, round: 2 })
})

test('what is printed is read back, and has one name', () => {
  const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
  const round = fc.integer({ min: 0, max: 2 ** 31 - 1 })
  fc.assert(
    fc.property(fc.record({ webhookId: number, seq: number, round }, { noNullPrototype: true }), (key) => {
      assert.deepEqual(parseDeliveryId(printDeliveryId(key)), key)
    }),
  )
})

test('nothing else is the name of a delivery', () => {
  const wrong = [
    '',
    '12',
    '12-',
    '-345',
    '12-345-',
    '12-345-0',
    '012-345',
    '12-0345',
    '0-345',
    '12-0',
    '12-345-2-1',
    ' 12-345',
    '12-345 ',
    '12-345\n',
  ]
  for (const text of [
    ...wrong,
    '12–345',
    '+12-345',
    '12-3.5',
    '1e3-4',
    '９-345',
    '9007199254740992-1',
    '1-9007199254740992',
    '1-1-2147483648',
    '1-1-99999999999',
  ])
    assert.equal(parseDeliveryId(text), undefined, JSON.stringify(text))
  fc.assert(
    fc.property(fc.string(), (text) => {
      const key = parseDeliveryId(text)
      assert.ok(key === undefined || printDeliveryId(key) === text)
    }),
  )
})

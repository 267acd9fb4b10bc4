import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StagedRows } from './staging.ts'

const customer = (name: string) => ({ kind: 'customer', externalId: 'C1', name, version: 1 }) as const
const tenOthers = Array.from({ length: 10 }, () => '\\N').join('\t')
const rowOf = (line: number, name: string) =>
  `${line}\tcustomer\tupsert\t1\t\\N\tC1\t\\N\t${name}\t\\N\t\\N\t\\N\t${tenOthers}\n`

test('rows stand one behind the other, however long each is, and nothing of before is left in memory that is used again', () => {
  const rows = new StagedRows()
  assert.equal(rows.isEmpty, true)
  const names = ['Ada', '日本'.repeat(5_000), 'x'.repeat(60_000), '']
  for (const [place, name] of names.entries()) rows.add(customer(name), place + 1)
  assert.equal(String(rows.bytes()), names.map((name, place) => rowOf(place + 1, name)).join(''))
  assert.equal(rows.count, names.length)
  assert.equal(String(rows.bytes(1, 3)), rowOf(2, names[1]!) + rowOf(3, names[2]!))
  assert.equal(rows.lineOf(2), 3)
  rows.clear()
  assert.equal(rows.isEmpty, true)
  rows.add(customer('Bea'), 7)
  assert.equal(String(rows.bytes()), rowOf(7, 'Bea'))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { convertCsv, parseCsv } from './csv.ts'

async function convert(text: string, kind?: 'customer' | 'account' | 'holding'): Promise<unknown[]> {
  const lines: string[] = []
  for await (const line of convertCsv(streamOf(text), kind)) lines.push(line.toString())
  const all = lines.join('').split('\n')
  assert.equal(all.pop(), '')
  return all.map((line) => (line === '' ? undefined : JSON.parse(line)))
}

async function* streamOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

test('cells are separated by commas, and may stand in quotation marks', () => {
  assert.deepEqual(parseCsv('a,b,,d'), ['a', 'b', '', 'd'])
  assert.deepEqual(parseCsv('"a, b","say ""hi""",'), ['a, b', 'say "hi"', ''])
  assert.deepEqual(parseCsv('"a\nb",c'), ['a b', 'c'], 'a line break counts as a space')
  for (const open of ['"open', 'a,"b ""c""', '"a\n', '"']) assert.equal(parseCsv(open), 'open', open)
  for (const broken of ['a"b', '"a"b', '"a" ,b', '"a"b"c']) assert.equal(parseCsv(broken), undefined, broken)
})

test('a table becomes records with the line numbers of the table', async () => {
  const table =
    '\ufeffexternalId,name,version,email\r\nC-1,"Lovelace, Ada",7,\r\n\r\nC-2,Bob,8,b@example.com\r\n'
  assert.deepEqual(await convert(table, 'customer'), [
    undefined,
    { kind: 'customer', externalId: 'C-1', name: 'Lovelace, Ada', version: 7 },
    undefined,
    { kind: 'customer', externalId: 'C-2', name: 'Bob', version: 8, email: 'b@example.com' },
  ])
})

test('a line break in quotation marks is one of the cell, and what follows keeps its number', async () => {
  const table = 'externalId,name,version\r\nC-1,"Ada\r\n\r\nLovelace",7\r\nC-2,Bob,8\n\n\nC-3,"Eve\nEvans",9'
  assert.deepEqual(await convert(table, 'customer'), [
    undefined,
    { kind: 'customer', externalId: 'C-1', name: 'Ada  Lovelace', version: 7 },
    undefined,
    undefined,
    { kind: 'customer', externalId: 'C-2', name: 'Bob', version: 8 },
    undefined,
    undefined,
    { kind: 'customer', externalId: 'C-3', name: 'Eve Evans', version: 9 },
    undefined,
  ])
})

test('of a mark that is never closed the line alone is no record, however much follows', async () => {
  const rows = Array.from({ length: 9_000 }, (_, n) => `C-${n},Name ${n},1`)
  for (const most of [2, 9_000]) {
    const read = await convert(
      `externalId,name,version\nC-x,"Ada,1\n${rows.slice(0, most).join('\n')}\n`,
      'customer',
    )
    assert.equal(read.length, most + 2)
    assert.equal(read[1], 'C-x,"Ada,1')
    assert.deepEqual(read[2], { kind: 'customer', externalId: 'C-0', name: 'Name 0', version: 1 })
    assert.deepEqual(read.at(-1), {
      kind: 'customer',
      externalId: `C-${most - 1}`,
      name: `Name ${most - 1}`,
      version: 1,
    })
  }
})

test('numbers, truth and lists are read as such, and what is none stays as it stands, to be refused', async () => {
  const table = 'kind,optionLevel,dayTrader,mayAuthorize\naccount,2,true,\nholding,x,yes,read trade'
  assert.deepEqual(await convert(table), [
    undefined,
    { kind: 'account', optionLevel: 2, dayTrader: true },
    { kind: 'holding', optionLevel: 'x', dayTrader: 'yes', mayAuthorize: ['read', 'trade'] },
  ])
})

test('a table says what its lines are, or is refused', async () => {
  await assert.rejects(
    convert('externalId,name\nC-1,Ada'),
    /kind must be a column, or said of the table: one of customer, account, holding\.$/,
  )
})

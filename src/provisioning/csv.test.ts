import assert from 'node:assert/strict'
import { test } from 'node:test'
import { convertCsv, parseCsvLine } from './csv.ts'

async function convert(text: string, kind?: 'customer' | 'account' | 'holding'): Promise<unknown[]> {
  const lines: string[] = []
  for await (const line of convertCsv(streamOf(text), kind)) lines.push(line.toString())
  return lines.map((line) => (line === '\n' ? undefined : JSON.parse(line)))
}

async function* streamOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

test('cells are separated by commas, and may stand in quotation marks', () => {
  assert.deepEqual(parseCsvLine('a,b,,d'), ['a', 'b', '', 'd'])
  assert.deepEqual(parseCsvLine('"a, b","say ""hi""",'), ['a, b', 'say "hi"', ''])
  assert.equal(parseCsvLine('"open'), undefined)
})

test('a table becomes records with the line numbers of the table', async () => {
  const table = '\ufeffexternalId,name,version,email\r\nC-1,"Lovelace, Ada",7,\r\n\r\nC-2,Bob,8,b@example.com\r\n'
  assert.deepEqual(await convert(table, 'customer'), [
    undefined,
    { kind: 'customer', externalId: 'C-1', name: 'Lovelace, Ada', version: 7 },
    undefined,
    { kind: 'customer', externalId: 'C-2', name: 'Bob', version: 8, email: 'b@example.com' },
  ])
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

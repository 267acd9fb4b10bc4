import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { printCsvCell, printCsvRow } from './csv.ts'

/** As a program reads it that knows RFC 4180. */
function parseCell(cell: string): string {
  assert.match(cell, /^"(?:[^"]|"")*"$/s)
  return cell.slice(1, -1).replaceAll('""', '"')
}

test('what a spreadsheet would take for a formula is text', () => {
  const formulas = [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    ' =1',
    '＝1',
    '=HYPERLINK("http://evil.example")',
  ]
  for (const text of formulas) assert.equal(parseCell(printCsvCell(text)), `'${text}`, JSON.stringify(text))
  for (const text of ['', 'user:id-1', '{"a":"=1"}', '192.0.2.7', "it's"])
    assert.equal(parseCell(printCsvCell(text)), text)
})

test('a cell holds any text without ending itself, and never begins like a formula', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = parseCell(printCsvCell(text))
      assert.ok(withoutGuards(read) === withoutGuards(text))
      for (const cell of [read, ...read.split(';')]) assert.doesNotMatch(cell, /^\s*"*[=+\-@]/)
      assert.doesNotMatch(read, /^[\t\r]/)
    }),
  )
})

/** Only apostrophes are ever added. */
const withoutGuards = (text: string) => text.replaceAll("'", '')

test('where cells are told apart by semicolons, none of ours begins a formula inside', () => {
  assert.equal(parseCell(printCsvCell('{"device":";=HYPERLINK(1)"}')), '{"device":";\'=HYPERLINK(1)"}')
})

test('a row ends with a carriage return and a line feed', () => {
  assert.equal(printCsvRow(['a', 'b"c', 'd,e\n']), '"a","b""c","d,e\n"\r\n')
})

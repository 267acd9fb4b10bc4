import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { fitInto, openPrinter } from './printer.ts'

const rows = [
  { id: 1, name: 'Quant', state: 'active', url: 'https://quant.example/hooks/of/a/rather/long/address' },
  { id: 22, name: 'A partner with a long name', state: 'suspended', url: null },
]

/** A terminal of so many columns, or what a file is. */
function openOut(columns?: number) {
  let text = ''
  const out = new Writable({
    write(chunk, _, done) {
      text += chunk
      done()
    },
  }) as unknown as NodeJS.WriteStream
  if (columns !== undefined) Object.assign(out, { isTTY: true, columns, getColorDepth: () => 4 })
  return { out, read: () => text }
}

function printTo(columns?: number): string {
  const { out, read } = openOut(columns)
  openPrinter(false, out).table(rows, 'None.')
  return read()
}

test('a file gets each row whole and plain', () => {
  assert.equal(
    printTo(),
    [
      'id  name                        state      url',
      '1   Quant                       active     https://quant.example/hooks/of/a/rather/long/address',
      '22  A partner with a long name  suspended  -',
      '',
    ].join('\n'),
  )
})

test('in a terminal a row is one line of its width, with colours that no stored text can bring', () => {
  for (const columns of [120, 60, 40]) {
    const text = printTo(columns)
    assert.notEqual(text, stripVTControlCharacters(text))
    const lines = stripVTControlCharacters(text).trimEnd().split('\n')
    assert.equal(lines.length, 3)
    for (const line of lines) assert.ok(line.length <= columns, `${columns}: ${line}`)
  }
  const { out, read } = openOut(80)
  openPrinter(false, out).record({ name: '\x1b[2JQuant' })
  assert.ok(read().includes('\\u001b[2JQuant'))
})

test('the widest columns give way first', () => {
  assert.deepEqual(fitInto(100, [5, 20, 50]), [5, 20, 50])
  assert.deepEqual(fitInto(60, [5, 20, 50]), [5, 20, 35])
  assert.deepEqual(fitInto(35, [5, 20, 50]), [5, 15, 15])
  assert.deepEqual(fitInto(3, [5, 20, 50]), [5, 6, 6])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/text.ts'
import { decodeFormText, encodeFormBytes, parseForm, parseFormBytes, queryOf } from './form.ts'

/** What the platform's own parser reads, in our shape. */
function readByPlatform(text: string): [string, string | string[]][] {
  const parameters = new URLSearchParams(text)
  return [...new Set(parameters.keys())].map((name) => {
    const values = parameters.getAll(name)
    return [name, values.length === 1 ? values[0]! : values]
  })
}

const name = fc.oneof(anyText(), fc.constantFrom('__proto__', 'constructor', 'toString', 'a', 'b'))
const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array).toString('latin1'))

test('whatever a client encodes is read as it was meant', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(name, anyText())), (pairs) => {
      const text = new URLSearchParams(pairs).toString()
      assert.deepEqual(Object.entries(parseForm(text)).sort(), readByPlatform(text).sort())
    }),
  )
})

test('whatever a client fails to encode is read as browsers read it', () => {
  const raw = fc.string({
    unit: fc.constantFrom('%', '+', '&', '=', ';', '#', '?', 'a', '4', '1', 'F', 'f', '%41', '%C3%A9', '%ff'),
  })
  fc.assert(
    fc.property(raw, (text) => {
      const query = `x${text}`
      assert.deepEqual(Object.entries(parseForm(query)).sort(), readByPlatform(query).sort())
    }),
  )
})

test('a name that comes twice is an array of every value, never one of them', () => {
  fc.assert(
    fc.property(name, fc.array(anyText(), { minLength: 2 }), (repeated, values) => {
      const text = new URLSearchParams(values.map((value): [string, string] => [repeated, value])).toString()
      assert.deepEqual(parseForm(text)[repeated], values)
    }),
  )
})

test('names of the language are ordinary names', () => {
  const form = parseForm('__proto__=a&constructor=b&toString=c&hasOwnProperty=d')
  assert.equal('valueOf' in parseForm(''), false)
  assert.deepEqual(Object.keys(form).sort(), ['__proto__', 'constructor', 'hasOwnProperty', 'toString'])
  assert.equal(parseForm('').toString, undefined)
})

test('every byte survives encoding and reading', () => {
  fc.assert(
    fc.property(bytes, (value) => {
      const encoded = encodeFormBytes(value)
      assert.match(encoded, /^[A-Za-z0-9\-._~%]*$/)
      assert.equal(parseFormBytes(`state=${encoded}`).state, value)
    }),
  )
})

test('text and bytes are two views of the same value', () => {
  fc.assert(
    fc.property(anyText(), (value) => {
      const raw = encodeURIComponent(value)
      assert.equal(decodeFormText(raw), value)
      assert.equal(Buffer.from(String(parseFormBytes(`x=${raw}`).x), 'latin1').toString('utf8'), value)
    }),
  )
})

test('a percent sign that begins no escape stands for itself', () => {
  for (const raw of ['%', '%%', '%4', '%zz', '100%', '%2', 'a%b%']) assert.equal(decodeFormText(raw), raw)
  assert.equal(decodeFormText('%2541'), '%41')
})

test('the query begins at the first question mark', () => {
  assert.equal(queryOf('/a?b=c?d'), 'b=c?d')
  assert.equal(queryOf('/a?'), '')
  assert.equal(queryOf('/a'), '')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/text.ts'
import { randomLetters } from '../crypto/random.ts'
import { parseForm } from '../http/form.ts'
import { parseBasic, parseCredentials, refuseCredentialsInQuery } from './client-credentials.ts'
import { OAuthError } from './oauth-error.ts'

const none = parseForm('')
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
const word = anyText().filter((text) => !text.includes(':'))
const letters = fc.integer({ min: 1, max: 60 }).map(randomLetters)

function assertRefused(run: () => unknown, code: string): void {
  assert.throws(run, (error: unknown) => error instanceof OAuthError && error.code === code)
}

test('raw credentials are among the readings, whatever they hold; the secret may hold colons', () => {
  fc.assert(
    fc.property(word, anyText(), (id, secret) => {
      const readings = parseBasic(basic(`${id}:${secret}`))
      assert.ok(readings.some((reading) => reading.id === id && reading.secret === secret))
      assert.ok(readings.length <= 2)
    }),
  )
})

test('form-encoded credentials are among the readings, whatever they hold', () => {
  const encode = (text: string) => new URLSearchParams({ x: text }).toString().slice(2)
  fc.assert(
    fc.property(anyText(), anyText(), (id, secret) => {
      const readings = parseBasic(basic(`${encode(id)}:${encode(secret)}`))
      assert.ok(readings.some((reading) => reading.id === id && reading.secret === secret))
    }),
  )
})

test('credentials of letters and digits have one reading, in the header as in the form', () => {
  fc.assert(
    fc.property(letters, letters, (id, secret) => {
      assert.deepEqual(parseBasic(basic(`${id}:${secret}`)), [{ id, secret }])
      const form = parseForm(`client_id=${id}&client_secret=${secret}`)
      assert.deepEqual(parseCredentials(undefined, form), [{ id, secret }])
      assert.deepEqual(parseCredentials(basic(`${id}:${secret}`), form), [{ id, secret }])
    }),
  )
})

test('a header and a form that disagree are refused, never resolved', () => {
  fc.assert(
    fc.property(letters, letters, letters, (id, secret, other) => {
      fc.pre(other !== id && other !== secret)
      const header = basic(`${id}:${secret}`)
      assertRefused(() => parseCredentials(header, parseForm(`client_id=${other}`)), 'invalid_request')
      assertRefused(() => parseCredentials(header, parseForm(`client_secret=${other}`)), 'invalid_request')
      assertRefused(
        () => parseCredentials(header, parseForm(`client_id=${id}&client_secret=${other}`)),
        'invalid_request',
      )
    }),
  )
})

test('no header of any content does anything but give readings or an OAuth error', () => {
  const header = fc.oneof(
    anyText(),
    fc.string().map((text) => `Basic ${text}`),
    fc.base64String().map((text) => `bAsIc  ${text} `),
  )
  fc.assert(
    fc.property(header, (text) => {
      try {
        const readings = parseBasic(text)
        assert.ok(readings.length > 0)
      } catch (error) {
        assert.ok(error instanceof OAuthError && error.code === 'invalid_client')
      }
    }),
    { numRuns: 500 },
  )
})

test('base64 with foreign characters, or with bits that no encoder leaves, is refused', () => {
  const right = Buffer.from('ab:c').toString('base64')
  assert.equal(parseBasic(`Basic ${right}`).length, 1)
  const url = Buffer.from('a:\u00ff\u00fe?>').toString('base64url')
  for (const wrong of [
    `${right}!`,
    ` ${right.slice(0, 2)} ${right.slice(2)}`,
    'YWI6Yx==',
    url,
    '',
    '====',
    `${right}\n`,
  ]) {
    assertRefused(() => parseBasic(`Basic ${wrong}`), 'invalid_client')
  }
})

test('nothing sent is nothing found, and half of a pair is not a pair', () => {
  assert.equal(parseCredentials(undefined, none), undefined)
  assert.equal(parseCredentials(undefined, parseForm('client_id=a&client_secret=')), undefined)
  assertRefused(() => parseCredentials(undefined, parseForm('client_secret=b')), 'invalid_request')
})

test('credentials that come twice are refused, even when both are equal', () => {
  for (const form of [
    'client_id=a&client_id=a&client_secret=b',
    'client_id=a&client_secret=b&client_secret=b',
  ]) {
    assertRefused(() => parseCredentials(undefined, parseForm(form)), 'invalid_request')
    assertRefused(() => parseCredentials(basic('a:b'), parseForm(form)), 'invalid_request')
  }
})

test('credentials in the query are refused by name, empty and repeated ones too', () => {
  for (const name of ['client_id', 'client_secret', 'code', 'refresh_token', 'token']) {
    for (const query of [`${name}=x`, `${name}=`, name, `${name}=x&${name}=y`]) {
      assertRefused(() => refuseCredentialsInQuery(parseForm(query)), 'invalid_request')
    }
  }
  refuseCredentialsInQuery(parseForm('state=x&__proto__=y'))
})

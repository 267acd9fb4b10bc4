import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/text.ts'
import { environments } from '../vocabulary/environment.ts'
import { sha256 } from './hash.ts'
import { randomLetters } from './random.ts'
import { deriveToken, issueToken, parseToken, type TokenKind, tokenHint, tokenLength } from './token.ts'

const kinds: TokenKind[] = [
  ...([
    'code',
    'access',
    'refresh',
    'personal',
    'clientSecret',
    'serviceSecret',
    'session',
    'invitation',
    'reset',
    'administration',
  ] as const),
]
const kind = fc.constantFrom(...kinds)
const environment = fc.constantFrom(...environments)
const digest = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes))

test('an issued token is parsed back to its kind, its environment and its hash', () => {
  fc.assert(
    fc.property(kind, environment, (kind, environment) => {
      const token = issueToken(kind, environment)
      assert.deepEqual(parseToken(token.text), token)
      assert.equal(token.text.length, tokenLength)
      assert.match(token.text, /^[A-Za-z0-9]+$/)
      assert.deepEqual(token.hash, sha256(token.text))
    }),
  )
})

test('a token with one character changed, added or taken away is no token', () => {
  const change = fc.tuple(
    kind,
    fc.nat(tokenLength - 1),
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }),
  )
  fc.assert(
    fc.property(change, ([kind, place, character]) => {
      const { text } = issueToken(kind, 'live')
      assert.equal(parseToken(text.slice(0, place) + text.slice(place + 1)), undefined)
      assert.equal(parseToken(text.slice(0, place) + character + text.slice(place)), undefined)
      fc.pre(text[place] !== character)
      assert.equal(parseToken(text.slice(0, place) + character + text.slice(place + 1)), undefined)
    }),
    { numRuns: 500 },
  )
})

test('two characters exchanged are noticed', () => {
  fc.assert(
    fc.property(fc.nat(tokenLength - 2), (place) => {
      const { text } = issueToken('access', 'live')
      fc.pre(text[place] !== text[place + 1])
      assert.equal(
        parseToken(text.slice(0, place) + text[place + 1] + text[place] + text.slice(place + 2)),
        undefined,
      )
    }),
  )
})

test('garbage of any content and length is no token', () => {
  const garbage = fc.oneof(
    anyText(),
    fc.string({ minLength: tokenLength, maxLength: tokenLength }),
    fc.constant('').map(() => `csla${randomLetters(49)}`),
  )
  fc.assert(fc.property(garbage, (text) => assert.equal(parseToken(text), undefined)))
})

test('a derived token depends on its kind, its environment and its digest, and on nothing else', () => {
  fc.assert(
    fc.property(kind, environment, digest, digest, (kind, environment, one, other) => {
      const token = deriveToken(kind, environment, one)
      assert.deepEqual(deriveToken(kind, environment, Buffer.from(one)), token)
      assert.deepEqual(parseToken(token.text), token)
      fc.pre(!one.equals(other))
      assert.notEqual(deriveToken(kind, environment, other).text, token.text)
    }),
  )
})

test('digests at the edges give tokens too', () => {
  for (const byte of [0x00, 0xff]) {
    assert.ok(parseToken(deriveToken('refresh', 'live', Buffer.alloc(32, byte)).text))
  }
})

test('ten thousand tokens are ten thousand different ones, and use every letter and digit', () => {
  const texts = new Set(Array.from({ length: 10_000 }, () => issueToken('access', 'live').text))
  assert.equal(texts.size, 10_000)
  assert.equal(new Set([...texts].flatMap((text) => [...text.slice(4, 47)])).size, 62)
})

test('the hint is the last four characters, of the checksum and not of the secret', () => {
  const token = issueToken('clientSecret', 'live')
  assert.equal(tokenHint(token), token.text.slice(-4))
  assert.equal(tokenHint(token).length, 4)
})

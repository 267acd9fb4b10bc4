/** What may be registered as a callback. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findCallbackProblem } from './callback-url.ts'

const production = { environment: 'live', development: false } as const
const relaxed = [
  { environment: 'sandbox', development: false },
  { environment: 'live', development: true },
] as const

const sound = [
  'https://app.example.com/callback',
  'https://app.example.com',
  'https://app.example.com:8443/cb?tenant=7&x=%2F',
  'https://xn--bcher-kva.example/cb',
  'https://203.0.113.7/cb',
  'https://app.example.com/cb?return=https://other.example/@me',
]

test('an https URL can be registered everywhere', () => {
  for (const where of [production, ...relaxed]) {
    for (const url of sound) assert.equal(findCallbackProblem(url, where), undefined, url)
  }
})

test('plain http is for loopback, in the sandbox or in development', () => {
  for (const url of [
    'http://localhost:3000/cb',
    'http://127.0.0.1:3000/cb',
    'http://[::1]:3000/cb',
    'http://127.8.9.1/',
  ]) {
    for (const where of relaxed) assert.equal(findCallbackProblem(url, where), undefined, url)
    assert.match(findCallbackProblem(url, production)!, /https/)
  }
  for (const url of [
    'http://app.example.com/cb',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'http://10.0.0.1',
    'http://0.0.0.0',
  ]) {
    for (const where of [production, ...relaxed]) assert.match(findCallbackProblem(url, where)!, /https/, url)
  }
})

test('a fragment, credentials, a wildcard, a backslash or another scheme is refused', () => {
  const wrong = [
    'https://app.example.com/cb#',
    'https://app.example.com/cb#x',
    'https://user@app.example.com/cb',
    'https://user:secret@app.example.com/cb',
    'https://@app.example.com/cb',
    'https://:@app.example.com/cb',
    'https://*.example.com/cb',
    'https://app.example.com/*',
    'https://app.example.com\\@evil.example/cb',
    'https:\\\\app.example.com',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://app.example.com',
    'myapp://callback',
    'file:///etc/passwd',
    'urn:ietf:wg:oauth:2.0:oob',
  ]
  for (const where of [production, ...relaxed]) {
    for (const url of wrong) assert.notEqual(findCallbackProblem(url, where), undefined, url)
  }
})

test('what is no absolute URL, is too long, or holds anything but plain ASCII is refused', () => {
  const wrong = [
    '',
    '/callback',
    'app.example.com/cb',
    '//app.example.com',
    'https://',
    'https://app.example.com/ x',
    ' https://app.example.com',
  ]
  for (const url of [
    ...wrong,
    'https://bücher.example',
    'https://app.example.com/\r\nset-cookie:x',
    'https://app.example.com/\0',
  ]) {
    assert.notEqual(findCallbackProblem(url, production), undefined, JSON.stringify(url))
  }
  const base = 'https://app.example.com/'
  assert.equal(findCallbackProblem(base + 'x'.repeat(2_000 - base.length), production), undefined)
  assert.notEqual(findCallbackProblem(base + 'x'.repeat(2_001 - base.length), production), undefined)
})

test('whatever is accepted is safe to put into a Location header and leads to an https host', () => {
  const parts = fc.constantFrom(
    'https://',
    'http://',
    'a.example',
    '@',
    '#',
    '?',
    '/',
    '\\',
    ':',
    '443',
    '*',
    '%0d',
    '\r',
    ' ',
    'é',
    '..',
    '[::1]',
  )
  const text = fc.oneof(
    fc.array(parts, { maxLength: 8 }).map((each) => `https://${each.join('')}`),
    fc.string(),
  )
  fc.assert(
    fc.property(text, (url) => {
      if (findCallbackProblem(url, production) !== undefined) return
      assert.match(url, /^https:[\x21-\x7e]+$/i)
      const { protocol, username, password, hash, hostname } = new URL(
        `${url}${url.includes('?') ? '&' : '?'}code=x`,
      )
      assert.deepEqual([protocol, username, password, hash], ['https:', '', '', ''])
      assert.notEqual(hostname, '')
    }),
    { numRuns: 500 },
  )
})

test('a URL that a browser would read in another way than it is written is refused', () => {
  for (const url of [
    'https:app.example.com/cb',
    'https:/app.example.com/cb',
    'https:///app.example.com/cb',
  ]) {
    assert.notEqual(findCallbackProblem(url, production), undefined, url)
  }
})

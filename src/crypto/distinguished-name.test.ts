import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normaliseName, normaliseSubject } from './distinguished-name.ts'

test('a name is the same in every spelling that RFC 4514 has for it', () => {
  const spellings = [
    'CN=a\\, b,O=Example Ltd,C=US',
    'cn=a\\2C b , o = Example Ltd ,C=US',
    '2.5.4.3=a\\, b,2.5.4.10=#0c0b4578616d706c65204c7464,2.5.4.6=#13025553',
  ]
  assert.equal(new Set(spellings.map(normaliseName)).size, 1)
  assert.equal(normaliseName('CN=b\\C3\\A9'), normaliseName('CN=bé'))
  assert.equal(normaliseName('CN=a+UID=b,O=c'), normaliseName('UID=b + CN=a,O=c'))
})

test('names that differ in a value, its case, the order or the number of parts are different', () => {
  const names = [
    ...['CN=a,O=b', 'CN=A,O=b', 'O=b,CN=a', 'CN=a', 'CN=a+O=b', 'CN=a,O=b,C=c', 'CN=a\\,O=b', 'CN=a\\+O=b'],
    ...['CN=a\\ ,O=b', 'CN=\\ a,O=b', 'CN=a,1.2.3=b', 'CN=a,OU=b'],
  ].map(normaliseName)
  assert.equal(new Set(names).size, names.length)
  assert.ok(!names.includes(undefined))
})

test('what is no name is none', () => {
  const texts = [
    ...['', 'a', 'CN', 'CN=', '=a', 'CN=a,', ',CN=a', 'CN=a,,O=b', 'CN=a+', 'CN=a;O=b', 'CN="a"', 'CN=a\\'],
    ...[
      'CN=a\\x',
      'CN=#',
      'CN=#0c',
      'CN=#0c0561',
      'CN=#3000',
      'CN=#zz',
      'C N=a',
      '2.=a',
      '/CN=a/O=b\n',
      'CN=<a>',
    ],
  ]
  for (const text of texts) assert.equal(normaliseName(text), undefined, text)
  for (const subject of [undefined, '']) assert.equal(normaliseSubject(subject), undefined)
})

test('the lines of a subject are the name from its other end', () => {
  const subject = 'C=US\nO=Ex\\, Inc. \\+ \\"Co\\" \\<x\\>\\; #=\\\\\nL=\\ x\\ \nCN=a + UID=bé'
  const name = 'UID=b\\C3\\A9+CN=a,L=\\ x\\ ,O=Ex\\, Inc. \\+ \\"Co\\" \\<x\\>\\; #=\\\\,C=US'
  assert.equal(normaliseSubject(subject), normaliseName(name))
  assert.notEqual(normaliseSubject(subject), undefined)
})

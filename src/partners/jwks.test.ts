import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { makeCertificate } from '../../test/support/certificate.ts'
import { readJwksText } from './jwks.ts'

const [from, to] = [new Date('2020-01-01'), new Date('2020-01-02')]

function issue(kind?: 'ec' | 'rsa') {
  const { cert } = makeCertificate(['client.example.com'], from, to, kind)
  const { raw, publicKey } = new X509Certificate(cert)
  return { cert, der: raw, text: raw.toString('base64'), jwk: publicKey.export({ format: 'jwk' }) }
}

const [own, other] = [issue(), issue()]
const read = (x5c: unknown, { jwk } = own) => readJwksText(JSON.stringify({ ...jwk, x5c }))

test('a key is kept with its own certificate, the first that is given, whatever dates it bears (RFC 7517, 4.7)', () => {
  for (const [x5c, kept, by] of [
    [[own.text], [own.text], own],
    [[own.text, other.text, 'chain'], [own.text], own],
    [[], undefined, own],
    [undefined, undefined, own],
  ] as const) {
    const { keys, problems } = read(x5c, by)
    assert.deepEqual([problems, keys[0]?.jwk.x5c], [[], kept])
  }
  const rsa = issue('rsa')
  assert.deepEqual(read([rsa.text], rsa).keys[0]?.jwk.x5c, [rsa.text])
})

test('a certificate of another key is refused with that key', () => {
  for (const x5c of [[other.text], [other.text, own.text], [issue('rsa').text]])
    assert.deepEqual(read(x5c), {
      keys: [],
      problems: ['key 1 has an x5c whose first certificate is of another key'],
    })
})

test('a certificate whose key cannot be read is refused as one of another key', () => {
  const curve = Buffer.from('06082a8648ce3d030107', 'hex')
  const place = own.der.indexOf(curve) + curve.length - 1
  const strange = own.der.with(place, 0x77)
  assert.throws(() => new X509Certificate(strange).publicKey)
  assert.deepEqual(read([Buffer.from(strange).toString('base64')]).problems, [
    'key 1 has an x5c whose first certificate is of another key',
  ])
})

test('what is no certificate in base64 is refused with its key', () => {
  const trailing = Buffer.concat([own.der, Buffer.from('x')]).toString('base64')
  const inText = Buffer.from(own.cert).toString('base64')
  for (const x5c of [
    own.text,
    own.cert,
    [own.cert],
    [inText],
    [trailing],
    [''],
    [1],
    {},
    null,
    ['A'.repeat(9_000)],
  ])
    assert.deepEqual(read(x5c), {
      keys: [],
      problems: ['key 1 has an x5c that does not begin with a certificate: its DER in base64'],
    })
})

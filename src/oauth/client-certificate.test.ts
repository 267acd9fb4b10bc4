import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { issueCertificate } from '../../test/support/certificate.ts'
import { day } from '../clock.ts'
import { thumbprintOf } from '../http/client-certificate.ts'
import { matchCertificate } from './client-certificate.ts'

const now = new Date('2026-03-02T10:00:00Z')
const after = (days: number) => new Date(now.getTime() + days * day)
const times = { from: after(-1), to: after(1) }
const ourSubject = [
  ['C', 'US'],
  ['O', 'Example, Ltd'],
  ['CN', 'client'],
] as const
const certificateSubject = 'CN=client,O=Example\\, Ltd,C=US'
const authority = issueCertificate({ subject: [['CN', 'Authority']], ...times, isAuthority: true })
const others = issueCertificate({ subject: [['CN', 'Authority']], ...times, isAuthority: true })
const own = issueCertificate({ subject: ourSubject, ...times })
const issued = issueCertificate({ subject: ourSubject, ...times, issuer: authority })

function showing({ cert }: { cert: string }) {
  const certificate = new X509Certificate(cert)
  return { certificate, thumbprint: thumbprintOf(certificate.raw) }
}

function keyWith(...x5c: string[]) {
  return { id: 1, thumbprint: 'any', jwk: { kty: 'EC', ...(x5c.length > 0 && { x5c }) } } as const
}
const inText = ({ cert }: { cert: string }) => new X509Certificate(cert).raw.toString('base64')

test('a self-signed certificate says who comes when it is beside one of the keys, and no other does (RFC 8705, 2.2)', () => {
  const twin = issueCertificate({ subject: ourSubject, ...times })
  const client = { certificateSubject: null, keys: [keyWith(), keyWith(inText(own))] }
  assert.ok(matchCertificate(client, showing(own), now, []))
  assert.ok(matchCertificate(client, showing(own), after(400), []), 'for as long as it is registered')
  assert.ok(!matchCertificate(client, showing(twin), now, []), 'of the same name')
  assert.ok(!matchCertificate({ ...client, keys: [] }, showing(own), now, []))
  const elsewhere = { ...client, keys: [keyWith(inText(twin), inText(own)), keyWith('?')] }
  assert.ok(!matchCertificate(elsewhere, showing(own), now, []), 'only the first of x5c is of the key')
})

test('a certificate of an authority says who comes by its subject (RFC 8705, 2.1)', () => {
  const client = { certificateSubject, keys: [] }
  const authorities = [others, authority].map(({ cert }) => new X509Certificate(cert))
  const match = (shown: { cert: string }, given: object = {}, at = now, by = authorities) =>
    matchCertificate({ ...client, ...given }, showing(shown), at, by)
  assert.ok(match(issued))
  assert.ok(match(issueCertificate({ subject: ourSubject, ...times, issuer: authority, kind: 'rsa' })))
  assert.ok(match(issueCertificate({ subject: ourSubject, ...times, issuer: authority, usage: 'client' })))
  const refused = {
    'no subject is registered': match(issued, { certificateSubject: null }),
    'another is': match(issued, { certificateSubject: 'CN=client,C=US' }),
    'what is registered is no name': match(issued, { certificateSubject: 'client' }),
    'nobody is trusted': match(issued, {}, now, []),
    'another of the same name is': match(issued, {}, now, authorities.slice(0, 1)),
    'it signs itself': match(own),
    'it is for servers': match(
      issueCertificate({ subject: ourSubject, ...times, issuer: authority, usage: 'server' }),
    ),
    'it has ended': match(issued, {}, after(2)),
    'it has not begun': match(issued, {}, after(-2)),
  }
  for (const [why, isMatched] of Object.entries(refused)) assert.equal(isMatched, false, why)
})

test('who is trusted must be an authority itself, and in its time', () => {
  const client = { certificateSubject, keys: [] }
  const long = { from: after(-9), to: after(9) }
  const short = issueCertificate({ subject: [['CN', 'Short']], ...times, isAuthority: true })
  const none = issueCertificate({ subject: [['CN', 'None']], ...long })
  const match = (issuer: typeof short, at: Date) => {
    const shown = showing(issueCertificate({ subject: ourSubject, ...long, issuer }))
    return matchCertificate(client, shown, at, [new X509Certificate(issuer.cert)])
  }
  assert.equal(match(short, now), true)
  assert.equal(match(short, after(2)), false)
  assert.equal(match(none, now), false)
})

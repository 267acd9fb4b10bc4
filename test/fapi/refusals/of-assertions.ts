import { randomUUID } from 'node:crypto'
import { makeKey } from '../../support/client-keys.ts'
import { signAssertion } from '../../support/fapi.ts'
import { basic } from '../../support/gateway.ts'
import { byEs256, byHs256, byNobody, byRs256 } from '../../support/raw-jws.ts'
import {
  ask,
  assertion,
  by,
  headerOf,
  house,
  makeCertificate,
  other,
  proof,
  type Row,
  rsaKey,
  standard,
  tokenUrl,
  type Wrong,
} from './house.ts'

const sp = 'FAPI 2.0 SP 5.3.2.1'
const jwt = 'RFC 7523 3'
const best = 'RFC 8725 3'

/** What is wrong with the assertion alone. */
function row(source: string, sent: string, check: string, wrong: Wrong | string): Row {
  return {
    ...{ source, sent: `an assertion ${sent}`, rule: `assertion-${check}`, error: 'invalid_client' },
    send: () => ask({ assertion: typeof wrong === 'string' ? wrong : assertion(wrong) }),
  }
}

const stranger = makeKey('ES256')
const { baseUrl } = house

const twisted: Row[] = [
  row('RFC 7521 4.2', 'that is no token', 'form', 'nothing'),
  row(best, 'of alg none without a signature', 'form', `${assertion().split('.').slice(0, 2).join('.')}.`),
  row('RFC 7521 4.2', 'of more than 4 KiB', 'form', assertion({ claims: { more: 'x'.repeat(4_000) } })),
  row(best, 'whose claims are a list', 'form', assertion().replace(/\.[^.]+\./, '.W10.')),
  ...['crit', 'b64', 'jku', 'x5u', 'jwk'].map((name) =>
    row('FAPI 2.0 SP 5.4', `with ${name}`, 'header', { header: { [name]: name === 'crit' ? ['exp'] : 'x' } }),
  ),
  ...['dpop+jwt', 'at+jwt', 'oauth-authz-req+jwt', 7, ''].map((typ) =>
    row(best, `of the typ ${JSON.stringify(typ)}`, 'type', { header: { typ } }),
  ),
  row('FAPI 2.0 SP 5.4', 'signed RS256 with a key of the client', 'algorithm', {
    ...{ header: { alg: 'RS256', kid: rsaKey.publicJwk.kid }, signer: byRs256(rsaKey.privateKey) },
  }),
  row(best, 'of alg none', 'algorithm', { header: { alg: 'none' }, signer: byNobody }),
  row(best, 'without alg', 'algorithm', { header: { alg: undefined } }),
  row(best, 'signed HS256 with its public key', 'algorithm', {
    header: { alg: 'HS256' },
    signer: byHs256(JSON.stringify(by.key.publicJwk)),
  }),
  row(best, 'signed HS256 with its former secret', 'algorithm', {
    header: { alg: 'HS256' },
    signer: byHs256(by.client.secret),
  }),
  row(jwt, 'without iss', 'client', { claims: { iss: undefined } }),
  row(jwt, 'without sub', 'client', { claims: { sub: undefined } }),
  row(jwt, 'whose iss and sub differ', 'client', { claims: { iss: other.client.id } }),
  row(jwt, 'of a client that there is none of', 'client', { claims: { iss: 'nobody', sub: 'nobody' } }),
  row(jwt, 'whose sub is a list', 'client', { claims: { sub: [by.client.id], iss: [by.client.id] } }),
  row(sp, 'for the issuer in a list', 'audience', { claims: { aud: [baseUrl] } }),
  row(sp, 'for the token endpoint', 'audience', { claims: { aud: tokenUrl } }),
  row(sp, 'for the PAR endpoint', 'audience', { claims: { aud: `${baseUrl}/v1/oauth/par` } }),
  row(sp, 'for the issuer with a slash', 'audience', { claims: { aud: `${baseUrl}/` } }),
  row(sp, 'for the other site', 'audience', { claims: { aud: house.sandboxUrl } }),
  row(sp, 'for nobody', 'audience', { claims: { aud: undefined } }),
  row(jwt, 'without exp', 'expiry', { claims: { exp: undefined } }),
  row(jwt, 'that ended five minutes ago', 'expiry', { from: { iat: -360, exp: -300 } }),
  row(jwt, 'that ends now', 'expiry', { from: { exp: 0 } }),
  row(jwt, 'that ends in an hour', 'expiry', { from: { exp: 3600 } }),
  row(jwt, 'whose exp is a text', 'expiry', { claims: { exp: '9999999999' } }),
  row(sp, 'made 61 seconds ahead', 'not-yet', { from: { iat: 61, exp: 120 } }),
  row(sp, 'good in 61 seconds', 'not-yet', { from: { nbf: 61, exp: 120 } }),
  row(sp, 'whose iat is a text', 'not-yet', { claims: { iat: 'now' } }),
  row(jwt, 'without jti', 'id', { claims: { jti: undefined } }),
  row(jwt, 'whose jti is empty', 'id', { claims: { jti: '' } }),
  row(jwt, 'whose jti is a number', 'id', { claims: { jti: 7 } }),
  row(jwt, 'whose jti has 256 characters', 'id', { claims: { jti: 'x'.repeat(256) } }),
  row('FAPI 2.0 SP 5.4.3', 'of a kid that there is none of', 'key', { header: { kid: 'none' } }),
  row('FAPI 2.0 SP 5.4.3', 'of the kid of another client', 'key', {
    ...{ header: { kid: other.key.publicJwk.kid }, signer: byEs256(other.key.privateKey) },
  }),
  row('FAPI 2.0 SP 5.4.3', 'of an algorithm that it has no key for', 'key', {
    header: { alg: 'EdDSA', kid: undefined },
  }),
  row('FAPI 2.0 SP 5.4.3', 'whose kid is of a key for another algorithm', 'key', {
    header: { kid: rsaKey.publicJwk.kid },
  }),
  row(jwt, 'signed by a stranger', 'signature', { signer: byEs256(stranger.privateKey) }),
  row(jwt, 'signed by a stranger without kid', 'signature', {
    header: { kid: undefined },
    signer: byEs256(stranger.privateKey),
  }),
  row(jwt, 'whose signature is of other claims', 'signature', {
    signer: () => Buffer.from(assertion().split('.')[2]!, 'base64url'),
  }),
  row(jwt, 'whose signature is in DER', 'signature', {
    signer: (signed) => Buffer.concat([Buffer.from([0x30]), byEs256(by.key.privateKey)(signed)]),
  }),
]

const beside = (sent: string, more: Parameters<typeof ask>[0], rest: Partial<Row> = {}): Row => ({
  ...{ source: 'RFC 6749 2.3', sent, error: 'invalid_request', ...rest },
  send: () => ask(more),
})

export const ofAssertions: Row[] = [
  ...twisted,
  {
    ...{ source: jwt, sent: 'an assertion for the second time' },
    ...{ rule: 'assertion-used', error: 'invalid_client' },
    async send() {
      const used = await signAssertion(by)
      await ask({ assertion: used })
      return ask({ assertion: used })
    },
  },
  beside(
    'an assertion with client_id of another client',
    { fields: { client_id: other.client.id } },
    { source: 'RFC 7521 4.2', rule: 'assertion-client', error: 'invalid_client' },
  ),
  beside('an assertion and Basic at once', { headers: basic(standard) }),
  beside('an assertion and client_secret at once', { fields: { client_secret: by.client.secret } }),
  beside('an assertion of another type', { fields: { client_assertion_type: 'urn:other' } }),
  beside(
    'an assertion twice in the form',
    {
      fields: { client_assertion: [assertion(), assertion()] },
    },
    { rule: 'assertion-form', error: 'invalid_client' },
  ),
  beside(
    'the type of an assertion without one',
    { fields: { client_assertion: [] } },
    { rule: 'assertion-form', error: 'invalid_client' },
  ),
  {
    ...{ source: 'RFC 6749 2.3', sent: 'an assertion in the address', error: 'invalid_request' },
    send: () => ask({}, { path: `/v1/oauth/accesstoken?client_assertion=${assertion()}` }),
  },
  {
    ...{ source: sp, sent: 'neither key nor secret', error: 'invalid_client' },
    send: () =>
      ask({
        fields: { client_assertion: [], client_assertion_type: [], client_id: by.client.id },
      }),
  },
  {
    ...{ source: 'RFC 8705 2', sent: 'a certificate that is not the client’s' },
    ...{ rule: 'assertion-certificate', error: 'invalid_client' },
    send: () =>
      ask({
        fields: { client_assertion: [], client_assertion_type: [], client_id: by.client.id },
        headers: headerOf(makeCertificate('client')),
        proof: proof(),
      }),
  },
  {
    ...{ source: 'RFC 8705 2', sent: 'the certificate of another client' },
    ...{ rule: 'assertion-certificate', error: 'invalid_client' },
    send: () =>
      ask({
        fields: {
          client_assertion: [],
          client_assertion_type: [],
          client_id: other.client.id,
          x: randomUUID(),
        },
        headers: headerOf(makeCertificate('client')),
      }),
  },
]

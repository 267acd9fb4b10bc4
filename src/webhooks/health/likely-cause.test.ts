import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FailureSigns, findCause } from './likely-cause.ts'

const unreachable = (why: string, detail: string | null = null): FailureSigns => ({
  ...{ outcome: 'unreachable', status: null, why, detail, response: null },
})
const refused = (status: number, detail: string | null = null, response = ''): FailureSigns => ({
  ...{ outcome: 'refused', status, why: null, detail, response },
})

const page = '<!DOCTYPE html><title>403 Forbidden</title>'

const table: readonly (readonly [string, FailureSigns])[] = [
  ['no secret', unreachable('no-secret')],
  ['address not allowed', unreachable('forbidden-address')],
  ['DNS name unknown', unreachable('dns')],
  ['DNS name unknown', unreachable('dns', 'ENOTFOUND')],
  ['DNS name unknown', unreachable('dns', 'ENODATA')],
  ['DNS does not answer', unreachable('dns', 'ESERVFAIL')],
  ['DNS does not answer', unreachable('dns', 'ETIMEOUT')],
  [
    'TLS name mismatch',
    unreachable('tls', 'ERR_TLS_CERT_ALTNAME_INVALID: Host: a. is not in the cert’s altnames: DNS:b'),
  ],
  ['certificate expired', unreachable('tls', 'CERT_HAS_EXPIRED')],
  ['certificate not yet valid', unreachable('tls', 'CERT_NOT_YET_VALID')],
  ['self-signed certificate', unreachable('tls', 'DEPTH_ZERO_SELF_SIGNED_CERT')],
  ['self-signed certificate', unreachable('tls', 'SELF_SIGNED_CERT_IN_CHAIN')],
  ['certificate chain incomplete', unreachable('tls', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE')],
  ['certificate chain incomplete', unreachable('tls', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY')],
  ['TLS handshake failed', unreachable('tls', 'ERR_SSL_WRONG_VERSION_NUMBER')],
  ['TLS handshake failed', unreachable('tls')],
  ['connection refused', unreachable('connection', 'ECONNREFUSED')],
  ['no route', unreachable('connection', 'ENETUNREACH')],
  ['no route', unreachable('connection', 'EHOSTUNREACH')],
  ['connection reset', unreachable('connection', 'ECONNRESET')],
  ['connection reset', unreachable('connection', 'UND_ERR_SOCKET')],
  ['connection failed', unreachable('connection')],
  ['not HTTP', unreachable('protocol', 'HPE_INVALID_CONSTANT')],
  ['connect timeout', unreachable('timeout', 'no connection')],
  ['connect timeout', unreachable('timeout', 'ETIMEDOUT')],
  ['answer timeout', unreachable('timeout', 'no answer')],
  ['answer timeout', unreachable('timeout', 'unfinished answer')],
  ['answer timeout', unreachable('timeout')],
  ['redirect', refused(301, 'location: https://www.example.com/hooks')],
  ['redirect', refused(308)],
  ['gone', refused(410, null, page)],
  ['too large', refused(413, 'server: nginx', page)],
  ['rate limited', refused(429, null, page)],
  ['signature refused', refused(400, 'content-type: application/json', '{"error":"bad signature"}')],
  ['signature refused', refused(401)],
  ['signature refused', refused(403, 'content-type: application/json', '{"error":"forbidden"}')],
  [
    'refused by a proxy',
    refused(403, 'server: cloudflare\ncontent-type: text/html; charset=utf-8', 'Attention'),
  ],
  ['refused by a proxy', refused(401, null, page)],
  ['refused by a proxy', refused(405, null, page)],
  ['refused by a proxy', refused(400, 'server: nginx', `${page} invalid signature`)],
  ['wrong path', refused(404, 'content-type: text/html', page)],
  ['wrong path', refused(404)],
  ['method not allowed', refused(405)],
  ['content type refused', refused(415)],
  ['content refused', refused(400, null, '{"error":"unknown account"}')],
  ['content refused', refused(422)],
  ['receiver broke', refused(500)],
  ['application unreachable', refused(502, 'server: nginx', page)],
  ['application unreachable', refused(504)],
  ['unavailable', refused(503)],
  ['receiver broke', refused(520)],
  ['unknown', refused(600)],
  ['unknown', unreachable('something new')],
]

for (const [name, signs] of table) {
  const seen = [signs.status ?? signs.why, signs.detail?.split('\n')[0], signs.response?.slice(0, 20)]
  test(`the cause of ${seen.filter(Boolean).join(', ')} is “${name}”`, () => {
    const cause = findCause(signs)
    assert.equal(cause.name, name)
    assert.match(cause.title, /^[A-Z].*\.$/)
    assert.match(cause.fix, /^[A-Z].*\.$/)
  })
}

test('a cause names what the receiver let see: the names of the certificate, where it redirects, who answered', () => {
  const title = (signs: FailureSigns) => findCause(signs).title
  const names =
    'ERR_TLS_CERT_ALTNAME_INVALID: Host: a.example. is not in the cert’s altnames: DNS:b.example, DNS:*.c.example'
  assert.match(title(unreachable('tls', names)), /It names b\.example, \*\.c\.example\.$/)
  assert.match(title(refused(302, 'location: https://b.example/')), /redirects to https:\/\/b\.example\/\.$/)
  assert.match(title(refused(502, 'server: nginx/1.27')), /It calls itself nginx\/1\.27\.$/)
})

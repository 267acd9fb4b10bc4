import { createHash } from 'node:crypto'
import type { Answer } from '../../support/browser.ts'
import { send } from '../../support/browser.ts'
import { makeKey } from '../../support/client-keys.ts'
import { bareJwk, callAs, makePkce, push, signAssertion, signProof } from '../../support/fapi.ts'
import { sendRaw } from '../../support/oauth.ts'
import { byEs256, byHs256, byNobody, byRs256 } from '../../support/raw-jws.ts'
import {
  ask,
  boundTokens,
  by,
  certificate,
  certifiedTokens,
  dpopKey,
  headerOf,
  house,
  makeCertificate,
  makeOther,
  profileUrl,
  proof,
  type Row,
  resourceProof,
  rsaKey,
  tokenUrl,
  type Wrong,
} from './house.ts'

const section = 'RFC 9449 4.3'
const stranger = makeKey()

type WrongProof = readonly [sent: string, check: string, wrong: Wrong | string, source?: string]
const inAnHour = { from: { iat: 3600 } }
const anHourAgo = { from: { iat: -3600 } }

/** What is refused of a proof wherever it is sent. */
const wrongs: readonly WrongProof[] = [
  ['that is no token', 'form', 'nothing'],
  ['that is empty', 'form', ''],
  ['of more than 4 KiB', 'form', proof({ claims: { more: 'x'.repeat(4_000) } })],
  ['behind another one, with a comma', 'form', `${proof()}, ${proof()}`],
  ['whose header has crit', 'form', { header: { crit: ['htu'] } }, 'RFC 7515 4.1.11'],
  ['without typ', 'type', { header: { typ: undefined } }],
  ['of the typ JWT', 'type', { header: { typ: 'JWT' } }],
  ['of alg none', 'algorithm', { header: { alg: 'none' }, signer: byNobody }],
  ['without alg', 'algorithm', { header: { alg: undefined } }],
  [
    'signed RS256',
    'algorithm',
    { header: { alg: 'RS256', jwk: bareJwk(rsaKey) }, signer: byRs256(rsaKey.privateKey) },
    'FAPI 2.0 SP 5.4',
  ],
  [
    'signed HS256',
    'algorithm',
    { header: { alg: 'HS256' }, signer: byHs256(JSON.stringify(bareJwk(dpopKey))) },
  ],
  ['with a symmetric key', 'key', { header: { jwk: { kty: 'oct', k: 'c2VjcmV0' } } }],
  ['without jwk', 'key', { header: { jwk: undefined } }],
  ['with its private key', 'key', { header: { jwk: dpopKey.privateKey.export({ format: 'jwk' }) } }],
  ['with a key for another algorithm', 'key', { header: { jwk: bareJwk(rsaKey) } }],
  [
    'with a key that is no point of its curve',
    'key',
    { header: { jwk: { ...bareJwk(dpopKey), y: 'AAAA' } } },
  ],
  ['signed by another key than its own', 'signature', { signer: byEs256(stranger.privateKey) }],
  ['whose signature is of other claims', 'signature', { signer: () => Buffer.alloc(64, 1) }],
  ['without jti', 'claims', { claims: { jti: undefined } }],
  ['whose jti is empty', 'claims', { claims: { jti: '' } }],
  ['whose jti has 256 characters', 'claims', { claims: { jti: 'x'.repeat(256) } }],
  [
    'whose iat is a text',
    'claims',
    { claims: { iat: String(Math.floor(house.clock.now().getTime() / 1000)) } },
  ],
  ['without htm', 'method', { claims: { htm: undefined } }],
  ['for another method', 'method', { claims: { htm: 'PUT' } }],
  ['without htu', 'address', { claims: { htu: undefined } }],
  ['for another address of this site', 'address', { claims: { htu: `${house.baseUrl}/v1/oauth/revoke` } }],
  ['for the other site', 'address', { claims: { htu: tokenUrl.replace(house.baseUrl, house.sandboxUrl) } }],
  ['for another host', 'address', { claims: { htu: 'https://evil.example/v1/oauth/accesstoken' } }],
  ['for a path alone', 'address', { claims: { htu: '/v1/oauth/accesstoken' } }],
  ['for its address with a slash', 'address', { claims: { htu: `${tokenUrl}/` } }],
  ['without iat', 'time', { claims: { iat: undefined } }],
  ['made 61 seconds ago', 'time', { from: { iat: -61 } }],
  ['made 61 seconds ahead', 'time', { from: { iat: 61 } }, 'FAPI 2.0 SP 5.3.2.1'],
  ['made an hour ago', 'time', anHourAgo],
  ['made in an hour', 'time', inAnHour],
  ['that ended a minute ago', 'time', { from: { exp: -60 } }],
  ['good in 61 seconds', 'time', { from: { nbf: 61 } }],
]

const printed = (wrong: Wrong | string) => (typeof wrong === 'string' ? wrong : proof(wrong))

const atToken: Row[] = wrongs.map(([sent, check, wrong, source = section]) => ({
  ...{ source, sent: `at the token endpoint a proof ${sent}` },
  ...{ rule: `dpop-${check}`, error: 'invalid_dpop_proof' },
  send: () => ask({ proof: printed(wrong) }),
}))

const atPar: Row[] = (
  [
    ['for another address', 'address', {}],
    ['without jti', 'claims', { claims: { htu: `${house.baseUrl}/v1/oauth/par`, jti: undefined } }],
  ] as const
).map(([sent, check, wrong]) => ({
  ...{ source: 'RFC 9449 10.1', sent: `at PAR a proof ${sent}` },
  ...{ rule: `dpop-${check}`, error: 'invalid_dpop_proof' },
  send: () => push(by, makePkce(), { proof: proof(wrong) }),
}))

async function readProfile(
  dpop: string | undefined,
  {
    scheme = 'DPoP',
    token,
    headers = {},
  }: { scheme?: string; token?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const text = token ?? (await boundTokens()).access_token
  return send(profileUrl, {
    headers: { authorization: `${scheme} ${text}`, ...(dpop !== undefined && { dpop }), ...headers },
  })
}

const atResource = (
  sent: string,
  rule: string | undefined,
  ask: () => Promise<Answer>,
  more: Partial<Row> = {},
): Row => ({
  ...{ source: 'RFC 9449 7.1', sent: `at a resource ${sent}`, rule, error: 'invalid_dpop_proof' },
  ...{ status: 401, ...more },
  send: ask,
})

const signed = async (twist: Parameters<typeof signProof>[3]) =>
  signProof(by, dpopKey, { method: 'GET', url: profileUrl, token: (await boundTokens()).access_token }, twist)

/** Sends this header twice, as the two lines that it is. */
async function sendLines(path: string, lines: readonly string[], body = ''): Promise<Answer> {
  const method = body === '' ? 'GET' : 'POST'
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(house.baseUrl).host}`,
    'connection: close',
    ...(body === ''
      ? []
      : ['content-type: application/x-www-form-urlencoded', `content-length: ${body.length}`]),
    ...lines,
  ]
  const answer = await sendRaw(house.baseUrl, `${head.join('\r\n')}\r\n\r\n${body}`)
  const id = /^x-request-id: (.*)$/im.exec(answer.head)?.[1]
  return {
    ...{ status: answer.status, headers: { 'x-request-id': id }, text: answer.body, location: undefined },
    json: () => JSON.parse(answer.body),
  }
}

const atResources: Row[] = [
  ...wrongs
    .filter(([, check]) => check !== 'method' && check !== 'address')
    .map(([sent, check, wrong]) =>
      atResource(`a proof ${sent}`, `dpop-${check}`, async () => {
        if (typeof wrong === 'string') return readProfile(wrong)
        const { access_token: token } = await boundTokens()

        const ath = createHash('sha256').update(token).digest('base64url')
        const claims = { htm: 'GET', htu: profileUrl, ath, ...wrong.claims }
        return readProfile(proof({ ...wrong, claims }))
      }),
    ),
  atResource('no proof', 'dpop-missing', () => readProfile(undefined)),
  atResource('two proofs in two headers', 'dpop-form', async () => {
    const { access_token: token } = await boundTokens()
    const proofs = [await resourceProof(token), await resourceProof(token)]
    return sendLines('/v1/user/profile', [
      `authorization: DPoP ${token}`,
      ...proofs.map((each) => `DPoP: ${each}`),
    ])
  }),
  atResource('a proof for another method', 'dpop-method', async () =>
    readProfile(await signed({ claims: { htm: 'POST' } })),
  ),
  atResource('a proof whose method is in small letters', 'dpop-method', async () =>
    readProfile(await signed({ claims: { htm: 'get' } })),
  ),
  atResource('a proof for another address', 'dpop-address', async () =>
    readProfile(await signed({ claims: { htu: tokenUrl } })),
  ),
  atResource('a proof for the host that Host and X-Forwarded-Host name', 'dpop-address', async () =>
    readProfile(await signed({ claims: { htu: 'https://evil.example/v1/user/profile' } }), {
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    }),
  ),
  atResource('a proof without ath', 'dpop-token', async () =>
    readProfile(await signed({ claims: { ath: undefined } })),
  ),
  atResource('a proof for another token', 'dpop-token', async () =>
    readProfile(await signed({ claims: { ath: 'x'.repeat(43) } })),
  ),
  atResource('a proof whose ath is the token itself', 'dpop-token', async () =>
    readProfile(await signed({ claims: { ath: (await boundTokens()).access_token } })),
  ),
  atResource(
    'a proof by another key',
    'dpop-other-key',
    async () =>
      readProfile(
        await signProof(by, stranger, {
          method: 'GET',
          url: profileUrl,
          token: (await boundTokens()).access_token,
        }),
      ),
    { error: 'invalid_token' },
  ),
  atResource(
    'a proof for the second time',
    'dpop-used',
    async () => {
      const used = await resourceProof((await boundTokens()).access_token)
      await readProfile(used)
      return readProfile(used)
    },
    { source: 'RFC 9449 11.1' },
  ),
  atResource(
    'a bound token after the word Bearer, without a proof',
    'token-scheme',
    () => readProfile(undefined, { scheme: 'Bearer' }),
    { error: 'invalid_token', source: 'RFC 9449 7.2' },
  ),
  atResource(
    'a bound token after the word Bearer, with a good proof',
    'token-scheme',
    async () => readProfile(await signed({}), { scheme: 'Bearer' }),
    { error: 'invalid_token', source: 'RFC 9449 7.2' },
  ),
  atResource(
    'a bound token after the word Basic',
    undefined,
    async () => readProfile(await signed({}), { scheme: 'Basic' }),
    { error: 'unauthorized' },
  ),
  {
    ...{ source: 'FAPI 2.0 SP 5.3.4', sent: 'at a resource a token in the address', error: 'unauthorized' },
    status: 401,
    async send() {
      const { access_token: token } = await boundTokens()
      return send(`${profileUrl}?access_token=${token}`, { headers: { dpop: await resourceProof(token) } })
    },
  },
]

const nonces: Row[] = [
  {
    ...{ source: 'RFC 9449 8', sent: 'at the token endpoint a proof with a nonce that is none of ours' },
    ...{ rule: 'dpop-nonce', error: 'use_dpop_nonce' },
    send: () => ask({ proof: proof({ claims: { nonce: 'made-up' } }) }),
  },
  {
    ...{ source: 'RFC 9449 8', sent: 'at the token endpoint a proof without the nonce that is demanded' },
    ...{ rule: 'dpop-nonce', error: 'use_dpop_nonce' },
    send: async () => ask({}, { of: await makeOther(true) }),
  },
  {
    ...{ source: 'RFC 9449 8', sent: 'at PAR a proof without the nonce that is demanded' },
    ...{ rule: 'dpop-nonce', error: 'use_dpop_nonce' },
    send: async () => push(await makeOther(true), makePkce(), { dpopKey }),
  },
  atResource(
    'a proof with a nonce that is none of ours',
    'dpop-nonce',
    async () => readProfile(await signed({ claims: { nonce: 'made-up' } })),
    { source: 'RFC 9449 9', error: 'use_dpop_nonce' },
  ),
]

export const ofProofs: Row[] = [
  ...atToken,
  ...atPar,
  ...atResources,
  ...nonces,
  {
    ...{ source: section, sent: 'at the token endpoint two proofs in two headers' },
    ...{ rule: 'dpop-form', error: 'invalid_dpop_proof' },
    async send() {
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await signAssertion(by),
      })
      return sendLines('/v1/oauth/accesstoken', [`DPoP: ${proof()}`, `DPoP: ${proof()}`], String(body))
    },
  },
  {
    ...{ source: 'RFC 9449 11.1', sent: 'at the token endpoint a proof for the second time' },
    ...{ rule: 'dpop-used', error: 'invalid_dpop_proof' },
    async send() {
      const used = proof()
      await ask({ proof: used })
      return ask({ proof: used })
    },
  },
  {
    ...{
      source: 'RFC 9449 11.1',
      sent: 'at the token endpoint a proof for the second time, spelled otherwise',
    },
    ...{ rule: 'dpop-used', error: 'invalid_dpop_proof' },
    async send() {
      const jti = 'the-same'
      await ask({ proof: proof({ claims: { jti } }) })
      return ask({ proof: proof({ claims: { jti, more: 1 } }) })
    },
  },
  {
    ...{ source: 'FAPI 2.0 SP 5.3.2.1', sent: 'at the token endpoint no proof and no certificate' },
    ...{ rule: 'fapi-binding', error: 'invalid_request' },
    send: () => callAs(by, '/v1/oauth/accesstoken', { fields: { grant_type: 'client_credentials' } }),
  },
  {
    ...{ source: 'RFC 8705 3', sent: 'a token bound to a certificate, with another one' },
    ...{ rule: 'token-certificate', error: 'invalid_token', status: 401 },
    send: async () => certified(headerOf(makeCertificate('client'))),
  },
  {
    ...{ source: 'RFC 8705 3', sent: 'a token bound to a certificate, without one' },
    ...{ rule: 'token-certificate', error: 'invalid_token', status: 401 },
    send: () => certified({}),
  },
  {
    ...{ source: 'RFC 8705 3', sent: 'a token bound to a certificate, with a proof' },
    ...{ rule: 'token-scheme', error: 'invalid_token', status: 401 },
    send: () => certified({}, 'DPoP'),
  },
  {
    ...{ source: 'RFC 8705 3', sent: 'a token bound to a key, with a certificate and no proof' },
    ...{ rule: 'token-scheme', error: 'invalid_token', status: 401 },
    send: () => readProfile(undefined, { scheme: 'Bearer', headers: headerOf(certificate) }),
  },
]

async function certified(headers: Record<string, string>, scheme = 'Bearer'): Promise<Answer> {
  const { access_token: token } = await certifiedTokens()
  return readProfile(scheme === 'DPoP' ? await resourceProof(token) : undefined, { scheme, token, headers })
}

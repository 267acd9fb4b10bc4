/** RFC 8705 from the first request to the last: who signs in by a certificate, and whose tokens it binds. */
import assert from 'node:assert/strict'
import { createPublicKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Agent, setGlobalDispatcher } from 'undici'
import { thumbprintOf } from '../../src/http/client-certificate.ts'
import { setCertificateSubject } from '../../src/partners/certificate-subject.ts'
import { addKeys, listKeys, removeKey } from '../../src/partners/client-keys.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { readJwksText } from '../../src/partners/jwks.ts'
import { findKeySet, placeKeys } from '../../src/partners/key-sets.ts'
import { type Answer, type Fields, formOf, postForm, send } from '../support/browser.ts'
import { issueCertificate } from '../support/certificate.ts'
import { eventually } from '../support/eventually.ts'
import { answerRequest, callbackUrl, makePkce, pushFields } from '../support/fapi.ts'
import { basic, openHouse, type TestClient } from '../support/gateway.ts'
import { makeFolder } from '../support/process.ts'
import { answer, openReceiver } from '../support/receiver.ts'

/** The certificate of the house is its own. */
setGlobalDispatcher(new Agent({ connect: { rejectUnauthorized: false } }))

const folder = makeFolder()
const write = (name: string, held: string) => {
  writeFileSync(join(folder, name), held)
  return join(folder, name)
}
/** Whatever the clock of the house says. */
const times = { from: new Date('2020-01-01'), to: new Date('2049-01-01') }
const own = issueCertificate({ subject: [['CN', 'localhost']], ...times })
const authority = issueCertificate({ subject: [['CN', 'Authority']], isAuthority: true, ...times })
const house = await openHouse({
  TLS_CERT_FILE: write('own.pem', own.cert),
  TLS_KEY_FILE: write('own.key', own.key),
  MTLS_PORT: '0',
  MTLS_CA_FILE: write('authority.pem', authority.cert),
})
const { db } = house.gateway.context
const metadata = (await send(`${house.baseUrl}/.well-known/oauth-authorization-server`)).json<{
  mtls_endpoint_aliases: Record<string, string>
}>()
const { token_endpoint: tokens = '', pushed_authorization_request_endpoint: par = '' } =
  metadata.mtls_endpoint_aliases
const origin = new URL(tokens).origin

interface Shown {
  readonly cert: string
  readonly key: string
}

const makeCertificate = () => issueCertificate({ subject: [['CN', 'client']], ...times })
const thumbprint = ({ cert }: Shown) => thumbprintOf(new X509Certificate(cert).raw)

async function ask(
  url: string,
  shown: Shown | undefined,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Pick<Answer, 'status' | 'text' | 'json'>> {
  const method = body === undefined ? 'GET' : 'POST'
  const pair = shown && { cert: shown.cert, key: shown.key }
  const asked = request(url, { method, headers, rejectUnauthorized: false, agent: false, ...pair })
  const [answer] = await once(asked.end(body), 'response')
  const read = await text(answer)
  return { status: answer.statusCode, text: read, json: () => JSON.parse(read) }
}

const post = (url: string, shown: Shown | undefined, fields: Fields, headers = {}) =>
  ask(url, shown, { 'content-type': 'application/x-www-form-urlencoded', ...headers }, formOf(fields))

/** As the partner registers it (RFC 8705, 2.2): a key with its certificate. */
function keyOf({ cert }: Shown) {
  const { raw } = new X509Certificate(cert)
  return { ...createPublicKey(cert).export({ format: 'jwk' }), x5c: [raw.toString('base64')] }
}

async function register(client: TestClient, shown: Shown): Promise<void> {
  await addKeys(db, client, readJwksText(JSON.stringify({ keys: [keyOf(shown)] })), house.act())
}

async function makeClient(shown: Shown): Promise<TestClient> {
  const client = await house.makeClient({ callbackUrl, refresh: true })
  await register(client, shown)
  await setProfile(db, client, { from: house.clock.now() }, house.act())
  return client
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly token_type: string
}

async function getTokens(client: TestClient, shown: Shown): Promise<Tokens> {
  const pkce = makePkce()
  const pushed = await post(par, shown, { client_id: client.id, ...pushFields(pkce) })
  assert.equal(pushed.status, 201, pushed.text)
  const browser = await house.signIn(await house.makeUser())
  const { request_uri } = pushed.json<{ request_uri: string }>()
  const code = (await answerRequest({ client }, browser, request_uri)).get('code')!
  const grant = { grant_type: 'authorization_code', code, redirect_uri: callbackUrl }
  const fields = { ...grant, client_id: client.id, code_verifier: pkce.verifier }
  const answer = await post(tokens, shown, fields)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Tokens>()
}

const profile = (token: string, shown: Shown | undefined, scheme = 'Bearer', site = origin) =>
  ask(`${site}/v1/user/profile`, shown, { authorization: `${scheme} ${token}` }).then(({ status }) => status)

const ownToken = (client: TestClient, shown: Shown | undefined, url = tokens) =>
  post(url, shown, { grant_type: 'client_credentials', scope: 'webhooks', client_id: client.id })

test('a client signs in by the certificate that it has registered, and its tokens are good with that one alone (2.2, 3)', async () => {
  const [mine, stranger] = [makeCertificate(), makeCertificate()]
  const client = await makeClient(mine)
  const { access_token: token, token_type } = await getTokens(client, mine)
  assert.equal(token_type, 'Bearer')
  assert.equal(await profile(token, mine), 200)
  const refused = {
    'with none': await profile(token, undefined),
    'with another': await profile(token, stranger),
    'where none is asked for': await profile(token, mine, 'Bearer', house.baseUrl),
    'over DPoP': await profile(token, mine, 'DPoP'),
  }
  for (const [how, status] of Object.entries(refused)) assert.equal(status, 401, how)
  const said = await post(metadata.mtls_endpoint_aliases.introspection_endpoint!, mine, {
    token,
    client_id: client.id,
  })
  assert.deepEqual(said.json<{ cnf: object }>().cnf, { 'x5t#S256': thumbprint(mine) })
})

test('a refresh token is of the client, by whichever of its certificates it comes (RFC 8705, 7.1)', async () => {
  const [first, second, stranger] = [makeCertificate(), makeCertificate(), makeCertificate()]
  const client = await makeClient(first)
  const { refresh_token } = await getTokens(client, first)
  await register(client, second)
  const fields = { grant_type: 'refresh_token', refresh_token, client_id: client.id }
  const answer = await post(`${origin}/v1/oauth/refreshtoken`, second, fields)
  assert.equal(answer.status, 200, answer.text)
  const { access_token: token } = answer.json<Tokens>()
  assert.deepEqual([await profile(token, second), await profile(token, first)], [200, 401])
  assert.equal((await post(`${origin}/v1/oauth/refreshtoken`, stranger, fields)).status, 401)
})

test('a certificate that came to the address of the keys this moment is taken, and one that is nowhere asks there once (2.2.2)', async (t) => {
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  const [first, next] = [makeCertificate(), makeCertificate()]
  const holding = (...certificates: readonly Shown[]) =>
    answer(200, { 'content-type': 'application/json' }, JSON.stringify({ keys: certificates.map(keyOf) }))
  receiver.on('/jwks', holding(first))
  const client = await makeClient(first)
  const place = { jwksUri: receiver.url('/jwks'), policy: house.gateway.context.config.webhooks }
  await placeKeys(db, client, place, house.act())
  await eventually('the keys are read', async () => (await findKeySet(db, client.id))!.readAt !== null)
  receiver.on('/jwks', holding(first, next))
  assert.equal((await ownToken(client, next)).status, 200)
  for (const shown of [makeCertificate(), makeCertificate()])
    assert.equal((await ownToken(client, shown)).status, 401)
  assert.equal(receiver.at('/jwks').length, 2)
})

test('a certificate that is not registered says nothing, nor does the name of a client without one', async () => {
  const [mine, others] = [makeCertificate(), makeCertificate()]
  const [client] = await Promise.all([makeClient(mine), makeClient(others)])
  assert.equal((await ownToken(client, mine)).status, 200)
  for (const [shown, url] of [
    [others, tokens],
    [makeCertificate(), tokens],
    [undefined, tokens],
    [mine, `${house.baseUrl}/v1/oauth/accesstoken`],
  ] as const) {
    const { status, json } = await ownToken(client, shown, url)
    assert.deepEqual([status, json<{ error: string }>().error], [401, 'invalid_client'])
  }
})

test('what is taken away counts from the next request', async () => {
  const mine = makeCertificate()
  const client = await makeClient(mine)
  assert.equal((await ownToken(client, mine)).status, 200)
  const [key] = await listKeys(db, client.id)
  await removeKey(db, client, key!.id, house.act())
  assert.equal((await ownToken(client, mine)).status, 401)
  const issued = issueCertificate({
    subject: [
      ['C', 'US'],
      ['CN', 'client'],
    ],
    issuer: authority,
    ...times,
  })
  const own = issueCertificate({
    subject: [
      ['C', 'US'],
      ['CN', 'client'],
    ],
    ...times,
  })
  const setSubject = (subject: string | null) => setCertificateSubject(db, client, subject, house.act())
  assert.equal((await ownToken(client, issued)).status, 401)
  await setSubject('CN=client,C=US')
  assert.deepEqual(
    [(await ownToken(client, issued)).status, (await ownToken(client, own)).status],
    [200, 401],
    'by an authority of MTLS_CA_FILE (2.1)',
  )
  await setSubject(null)
  assert.equal((await ownToken(client, issued)).status, 401)
})

test('a client of the standard profile that comes with a certificate has its tokens bound to it, and without one as ever', async () => {
  const mine = makeCertificate()
  const client = await house.makeClient()
  const exchange = async (shown: Shown | undefined) => {
    const fields = { grant_type: 'authorization_code', code: await house.makeCode(client) }
    const answer = await post(tokens, shown, fields, basic(client))
    assert.equal(answer.status, 200, answer.text)
    return answer.json<Tokens>().access_token
  }
  const bound = await exchange(mine)
  assert.deepEqual([await profile(bound, mine), await profile(bound, undefined)], [200, 401])
  const free = await exchange(undefined)
  assert.deepEqual(
    [await profile(free, mine), await profile(free, undefined, 'Bearer', house.baseUrl)],
    [200, 200],
  )
})

test('behind a proxy it is the same, by the certificate that the proxy tells; what it tells malformed is refused (RFC 9440)', async () => {
  const behind = await openHouse({ MTLS_PROXY_HEADER: 'true', TRUST_PROXY: '127.0.0.1' })
  const mine = makeCertificate()
  const client = await behind.makeClient()
  const told = `:${new X509Certificate(mine.cert).raw.toString('base64')}:`
  const fields = { grant_type: 'authorization_code', code: await behind.makeCode(client) }
  const url = `${behind.baseUrl}/v1/oauth/accesstoken`
  for (const wrong of [told.slice(1), `${told}, ${told}`]) {
    const refused = await postForm(url, fields, { ...basic(client), 'client-cert': wrong })
    assert.equal(refused.status, 400)
    assert.deepEqual(Object.keys(refused.json()), ['error', 'error_description'])
    assert.match(refused.text, /"invalid_request".*Client-Cert header is malformed/)
  }
  const answer = await postForm(url, fields, { ...basic(client), 'client-cert': told })
  assert.equal(answer.status, 200, answer.text)
  const authorization = `Bearer ${answer.json<Tokens>().access_token}`
  const look = async (headers: Record<string, string>) =>
    (await send(`${behind.baseUrl}/v1/user/profile`, { headers: { authorization, ...headers } })).status
  assert.deepEqual([await look({ 'client-cert': told }), await look({})], [200, 401])
})

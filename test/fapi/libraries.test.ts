/**
 * Libraries of partners go the whole way with FAPI 2.0, on TLS, with what discovery says alone: pushed requests,
 * keys, proofs with nonces and without, and certificates.
 */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { Agent, fetch as fetchBy, setGlobalDispatcher } from 'undici'
import { day } from '../../src/clock.ts'
import { addKeys } from '../../src/partners/client-keys.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { readJwksText } from '../../src/partners/jwks.ts'
import { ask } from '../support/ask.ts'
import { type Certificate, issueCertificate } from '../support/certificate.ts'
import { callbackUrl } from '../support/fapi.ts'
import { openHouse, type TestClient } from '../support/gateway.ts'
import { makeFolder } from '../support/process.ts'
import { approveForm } from '../support/web.ts'

const folder = makeFolder()
const write = (name: string, held: string) => {
  writeFileSync(join(folder, name), held)
  return join(folder, name)
}
const times = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) }
const own = issueCertificate({ subject: [['CN', 'localhost']], altNames: ['localhost'], ...times })
const authority = issueCertificate({ subject: [['CN', 'Authority']], isAuthority: true, ...times })
const house = await openHouse({
  ...{ HOST: 'localhost', MTLS_PORT: '0', MTLS_CA_FILE: write('authority.pem', authority.cert) },
  ...{ TLS_CERT_FILE: write('own.pem', own.cert), TLS_KEY_FILE: write('own.key', own.key) },
})
const { db } = house.gateway.context
setGlobalDispatcher(new Agent({ connect: { ca: own.cert } }))

/** Libraries read the clock of the machine. */
function setClock(): void {
  house.clock.advance(Math.max(0, Date.now() - house.clock.now().getTime()))
}
setClock()

type Fetch = (url: string, options: object) => Promise<Response>

/** As a program fetches that trusts the gateway's certificate, and shows one of its own, if it has one. */
function fetchWith(shown?: Certificate): Fetch {
  const dispatcher = new Agent({
    connect: { ca: own.cert, ...(shown && { cert: shown.cert, key: shown.key }) },
  })
  return (url, options) => {
    setClock()
    return fetchBy(url, { ...options, dispatcher }) as unknown as Promise<Response>
  }
}

async function makeClient(jwks: object, demandsDpopNonces = false): Promise<TestClient> {
  const client = await house.makeClient({ callbackUrl })
  await addKeys(db, client, readJwksText(JSON.stringify(jwks)), house.act())
  return switchTo(client, demandsDpopNonces)
}

async function switchTo(client: TestClient, demandsDpopNonces: boolean): Promise<TestClient> {
  await setProfile(db, client, { from: house.clock.now(), demandsDpopNonces }, house.act())
  return client
}

async function approveAt(address: URL): Promise<URL> {
  const browser = await house.signIn(await house.makeUser())
  const start = await browser.get(address.href)
  assert.equal(start.status, 302, start.text)
  const page = await browser.get((await browser.get(start.location!)).location!)
  return new URL((await browser.post('/consent', approveForm(page))).location!)
}

/** From discovery to the end of the last token. */
async function goTheWholeWay(config: openid.Configuration, options: openid.DPoPOptions): Promise<void> {
  const verifier = openid.randomPKCECodeVerifier()
  const asked = {
    ...{ redirect_uri: callbackUrl, scope: 'read', response_type: 'code' },
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  const address = await openid.buildAuthorizationUrlWithPAR(config, asked, options)
  assert.deepEqual([...address.searchParams.keys()].sort(), ['client_id', 'request_uri'])
  const back = await approveAt(address)
  const checks = { pkceCodeVerifier: verifier }
  const first = await openid.authorizationCodeGrant(config, back, checks, undefined, options)
  assert.equal(first.token_type, options.DPoP ? 'dpop' : 'bearer')
  const second = await openid.refreshTokenGrant(config, first.refresh_token!, undefined, options)
  const origin = new URL(
    options.DPoP ? house.baseUrl : String(config.serverMetadata().mtls_endpoint_aliases!.token_endpoint),
  )
  const read = (token: string, path = '/v1/user/profile') =>
    openid.fetchProtectedResource(config, token, new URL(path, origin), 'GET', null, undefined, options)
  assert.equal((await read(second.access_token)).status, 200)
  const told = await openid.tokenIntrospection(config, second.access_token)
  assert.deepEqual([told.active, Object.keys(told.cnf!)], [true, [options.DPoP ? 'jkt' : 'x5t#S256']])
  await openid.tokenRevocation(config, second.refresh_token!)
  await assert.rejects(read(second.access_token), { status: 401 })
  const forWebhooks = await openid.clientCredentialsGrant(config, { scope: 'webhooks' }, options)
  assert.equal((await read(forWebhooks.access_token, '/v2/webhooks')).status, 200)
}

async function configure(
  { id }: TestClient,
  auth: openid.ClientAuth,
  fetch: Fetch,
  metadata: object = {},
): Promise<openid.Configuration> {
  const how = { algorithm: 'oauth2', [openid.customFetch]: fetch } as openid.DiscoveryRequestOptions
  return openid.discovery(new URL(house.baseUrl), id, metadata, auth, how)
}

for (const demandsNonces of [false, true])
  test(`openid-client goes the whole way with private_key_jwt and DPoP, ${demandsNonces ? 'with' : 'without'} nonces`, async () => {
    const keys = await generateKeyPair('ES256')
    const client = await makeClient({ keys: [await exportJWK(keys.publicKey)] }, demandsNonces)
    const config = await configure(client, openid.PrivateKeyJwt(keys.privateKey), fetchWith())
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
    await goTheWholeWay(config, { DPoP })
  })

const useAliases = { use_mtls_endpoint_aliases: true }

test('openid-client goes the whole way with a certificate that signs itself (RFC 8705 2.2)', async () => {
  const shown = issueCertificate({ subject: [['CN', 'Pal']], ...times })
  const { publicKey, raw } = new X509Certificate(shown.cert)
  const key = { ...publicKey.export({ format: 'jwk' }), x5c: [raw.toString('base64')] }
  const client = await makeClient({ keys: [key] })
  await goTheWholeWay(await configure(client, openid.TlsClientAuth(), fetchWith(shown), useAliases), {})
})

test('openid-client goes the whole way with a certificate of an authority (RFC 8705 2.1)', async () => {
  const subject = [['CN', 'pal.example']] as const
  const shown = issueCertificate({ subject, issuer: authority, usage: 'client', ...times })
  const client = await house.makeClient({ callbackUrl })
  await ask(db, 'UPDATE clients SET certificate_subject = $2 WHERE id = $1', [client.id, 'CN=pal.example'])
  await switchTo(client, false)
  await goTheWholeWay(await configure(client, openid.TlsClientAuth(), fetchWith(shown), useAliases), {})
})

test('oauth4webapi goes the whole way with private_key_jwt and DPoP', async () => {
  const keys = await generateKeyPair('EdDSA')
  const client = await makeClient({ keys: [await exportJWK(keys.publicKey)] })
  const options = { [oauth.customFetch]: fetchWith() as never }
  const issuer = new URL(house.baseUrl)
  const found = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
  const server = await oauth.processDiscoveryResponse(issuer, found)
  const self: oauth.Client = { client_id: client.id }
  const auth = oauth.PrivateKeyJwt(keys.privateKey)
  const DPoP = oauth.DPoP(self, await oauth.generateKeyPair('ES256'))
  const how = { ...options, DPoP }
  const verifier = oauth.generateRandomCodeVerifier()
  const asked = {
    ...{ redirect_uri: callbackUrl, scope: 'read', response_type: 'code' },
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  const answer = await oauth.pushedAuthorizationRequest(server, self, auth, asked, how)
  const { request_uri } = await oauth.processPushedAuthorizationResponse(server, self, answer)
  const address = new URL(server.authorization_endpoint!)
  address.search = String(new URLSearchParams({ client_id: client.id, request_uri }))
  const back = oauth.validateAuthResponse(server, self, await approveAt(address), oauth.expectNoState)
  const exchanged = await oauth.authorizationCodeGrantRequest(
    server,
    self,
    auth,
    back,
    callbackUrl,
    verifier,
    how,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, self, exchanged)
  assert.equal(tokens.token_type, 'dpop')
  const profile = new URL('/v1/user/profile', issuer)
  const read = await oauth.protectedResourceRequest(
    tokens.access_token,
    'GET',
    profile,
    undefined,
    undefined,
    how,
  )
  assert.equal(read.status, 200)
  const refreshed = await oauth.refreshTokenGrantRequest(server, self, auth, tokens.refresh_token!, how)
  assert.equal((await oauth.processRefreshTokenResponse(server, self, refreshed)).token_type, 'dpop')
})

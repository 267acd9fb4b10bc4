/** A client of the profile fapi2, as its program would: it signs who it is, and proves that it sends. */
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'
import { addKeys } from '../../src/partners/client-keys.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { readJwksText } from '../../src/partners/jwks.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { type Answer, type Browser, everythingOffered, type Fields, formOf, send } from './browser.ts'
import { makeKey, printJwks, type TestKey } from './client-keys.ts'
import type { ClientOptions, TestClient, TestGateway } from './gateway.ts'

export const callbackUrl = 'https://app.example.com/callback'

/** What an assertion or a proof says beside what it would say anyway; undefined leaves out. */
export interface Twist {
  readonly claims?: JWTPayload | Record<string, unknown>
  readonly header?: Record<string, unknown>
  readonly key?: TestKey
  readonly alg?: string
}

export interface Fapi2Client {
  readonly client: TestClient
  readonly key: TestKey
  readonly house: TestGateway
}

export async function makeFapi2Client(house: TestGateway, options: ClientOptions = {}): Promise<Fapi2Client> {
  const client = await house.makeClient({ callbackUrl, refresh: true, ...options })
  const key = makeKey('ES256', { kid: randomUUID() })
  const { db } = house.gateway.context
  await addKeys(db, client, readJwksText(printJwks(key)), house.act())
  await setProfile(db, client, { from: house.clock.now() }, house.act())
  return { client, key, house }
}

const withoutUndefined = (value: object) =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))

export function siteOf({ house, client }: Fapi2Client): string {
  return client.environment === 'live' ? house.baseUrl : house.sandboxUrl
}

export function signAssertion(
  by: Fapi2Client,
  { claims = {}, header = {}, key = by.key, alg = 'ES256' }: Twist = {},
) {
  const now = Math.floor(by.house.clock.now().getTime() / 1000)
  const { id } = by.client
  const said = { iss: id, sub: id, aud: siteOf(by), jti: randomUUID(), iat: now, exp: now + 60, ...claims }
  const head = withoutUndefined({ alg, kid: key.publicJwk.kid, ...header }) as JWTHeaderParameters
  return new SignJWT(withoutUndefined(said) as JWTPayload).setProtectedHeader(head).sign(key.privateKey)
}

interface ProvenRequest {
  readonly method?: string
  readonly url: string
  readonly token?: string | undefined
  readonly nonce?: string | undefined
}

/** The public members alone, as proofs have them. */
export function bareJwk({ publicJwk }: TestKey): Record<string, unknown> {
  const { kty, crv, x, y, n, e } = publicJwk
  return withoutUndefined({ kty, crv, x, y, n, e })
}

export function signProof(
  { house }: Pick<Fapi2Client, 'house'>,
  dpopKey: TestKey,
  { method = 'POST', url, token, nonce }: ProvenRequest,
  { claims = {}, header = {}, key = dpopKey, alg = 'ES256' }: Twist = {},
): Promise<string> {
  const iat = Math.floor(house.clock.now().getTime() / 1000)
  const ath = token === undefined ? undefined : createHash('sha256').update(token).digest('base64url')
  const said = { jti: randomUUID(), htm: method, htu: url, iat, ath, nonce, ...claims }
  const head = withoutUndefined({
    alg,
    typ: 'dpop+jwt',
    jwk: bareJwk(dpopKey),
    ...header,
  }) as JWTHeaderParameters
  return new SignJWT(withoutUndefined(said) as JWTPayload).setProtectedHeader(head).sign(key.privateKey)
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

interface Call {
  readonly fields: Fields
  readonly dpopKey?: TestKey | undefined
  readonly assertion?: Twist | string
  readonly proof?: Twist | string
  readonly nonce?: string
  readonly headers?: Record<string, string>
  /** Another node of the same house. */
  readonly at?: string
}

/** A form to a client's endpoint, signed anew. */
export async function callAs(by: Fapi2Client, path: string, call: Call): Promise<Answer> {
  const { fields, dpopKey, assertion = {}, proof = {}, nonce, headers = {}, at = siteOf(by) } = call
  const url = siteOf(by) + path
  const signed = typeof assertion === 'string' ? assertion : await signAssertion(by, assertion)
  const dpop =
    typeof proof === 'string' ? proof : dpopKey && (await signProof(by, dpopKey, { url, nonce }, proof))
  const body = formOf({ client_assertion_type: assertionType, client_assertion: signed, ...fields })
  return send(at + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(dpop !== undefined && { dpop }),
      ...headers,
    },
    body,
  })
}

export interface Pkce {
  readonly verifier: string
  readonly challenge: string
}

export function makePkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export function pushFields({ challenge }: Pkce, more: Fields = {}): Fields {
  return {
    response_type: 'code',
    redirect_uri: callbackUrl,
    scope: 'read',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  }
}

export async function push(
  by: Fapi2Client,
  pkce: Pkce,
  more: Omit<Call, 'fields'> & { fields?: Fields } = {},
) {
  const { fields = {}, ...call } = more
  return callAs(by, '/v1/oauth/par', { ...call, fields: pushFields(pkce, fields) })
}

/** The holder's part, from the name of the request to the callback's parameters. */
export async function answerRequest(
  by: Pick<Fapi2Client, 'client'>,
  browser: Browser,
  requestUri: string,
  decision = 'approve',
): Promise<URLSearchParams> {
  const query = new URLSearchParams({ client_id: by.client.id, request_uri: requestUri })
  const start = await browser.get(`/v1/oauth/authorize?${query}`)
  assert.equal(start.status, 302, start.text)
  if (start.location!.startsWith(callbackUrl)) return new URL(start.location!).searchParams
  const login = await browser.get(start.location!)
  const page = await browser.get(login.location!)
  const answer = await browser.submit(page, '/consent', { decision, ...everythingOffered(page.text) })
  assert.equal(answer.status, 303, answer.text)
  return new URL(answer.location!).searchParams
}

export async function makeCode(by: Fapi2Client, pkce: Pkce, fields: Fields = {}): Promise<string> {
  const { house, client } = by
  const pushed = await push(by, pkce, { fields })
  assert.equal(pushed.status, 201, pushed.text)
  const browser = await house.signIn(await house.makeUser(), client.environment)
  const answered = await answerRequest(by, browser, pushed.json<{ request_uri: string }>().request_uri)
  return answered.get('code')!
}

export interface BoundTokens {
  readonly access_token: string
  readonly refresh_token?: string
  readonly token_type: string
}

export async function getTokens(
  by: Fapi2Client,
  dpopKey: TestKey,
  fields: Fields = {},
): Promise<BoundTokens> {
  const pkce = makePkce()
  const code = await makeCode(by, pkce, fields)
  const answer = await exchange(by, dpopKey, code, pkce)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<BoundTokens>()
}

export function exchange(
  by: Fapi2Client,
  dpopKey: TestKey | undefined,
  code: string,
  { verifier }: Pkce,
  more: Omit<Call, 'fields'> & { fields?: Fields } = {},
): Promise<Answer> {
  const { fields, ...call } = more
  const given = { grant_type: 'authorization_code', code, redirect_uri: callbackUrl, code_verifier: verifier }
  return callAs(by, '/v1/oauth/accesstoken', { dpopKey, ...call, fields: { ...given, ...fields } })
}

export async function getProfile(
  by: Pick<Fapi2Client, 'house'> & { client: { environment: Environment } },
  dpopKey: TestKey,
  token: string,
  twist: Twist & { scheme?: string; proof?: string; nonce?: string } = {},
): Promise<Answer> {
  const url = `${by.client.environment === 'live' ? by.house.baseUrl : by.house.sandboxUrl}/v1/user/profile`
  const { scheme = 'DPoP', nonce } = twist
  const dpop = twist.proof ?? (await signProof(by, dpopKey, { method: 'GET', url, token, nonce }, twist))
  return send(url, { headers: { authorization: `${scheme} ${token}`, dpop } })
}

/** Who is refused: a client of the profile with keys and a certificate, another one, and one of the contract. */
import assert from 'node:assert/strict'
import { randomUUID, X509Certificate } from 'node:crypto'
import { day } from '../../../src/clock.ts'
import { addKeys } from '../../../src/partners/client-keys.ts'
import { setProfile } from '../../../src/partners/client-profile.ts'
import { readJwksText } from '../../../src/partners/jwks.ts'
import type { Answer } from '../../support/browser.ts'
import { issueCertificate } from '../../support/certificate.ts'
import { makeKey, printJwks } from '../../support/client-keys.ts'
import {
  type BoundTokens,
  bareJwk,
  callAs,
  exchange,
  type Fapi2Client,
  getTokens,
  makeCode,
  makeFapi2Client,
  makePkce,
  signProof,
} from '../../support/fapi.ts'
import { openHouse } from '../../support/gateway.ts'
import { byEs256, type RawSigner, signRaw } from '../../support/raw-jws.ts'

export interface Row {
  /** The specification and its section. */
  readonly source: string
  readonly sent: string
  /** Where more than the code tells it. */
  readonly rule?: string | undefined
  readonly error: string
  readonly status?: number | undefined
  send(): Promise<Answer>
}

export const house = await openHouse({ MTLS_PROXY_HEADER: 'true', TRUST_PROXY: '127.0.0.1' })
const { db } = house.gateway.context
export const by = await makeFapi2Client(house)
export const other = await makeFapi2Client(house)
export const standard = await house.makeClient()
export const dpopKey = makeKey()
export const rsaKey = makeKey('PS256', { kid: randomUUID() })
await addKeys(db, by.client, readJwksText(printJwks(rsaKey)), house.act())

const times = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) }
export const makeCertificate = (name: string) => issueCertificate({ subject: [['CN', name]], ...times })
/** As a proxy tells it (RFC 9440). */
export const headerOf = ({ cert }: { cert: string }) => ({
  'client-cert': `:${new X509Certificate(cert).raw.toString('base64')}:`,
})
export const certificate = makeCertificate('client')
const { publicKey, raw } = new X509Certificate(certificate.cert)
const certifiedKey = { ...publicKey.export({ format: 'jwk' }), x5c: [raw.toString('base64')] }
await addKeys(db, by.client, readJwksText(JSON.stringify({ keys: [certifiedKey] })), house.act())

/** The same client, of which nonces are demanded, or which is suspended: its own, so that nobody else is. */
export async function makeOther(demandsDpopNonces = false): Promise<Fapi2Client> {
  const made = await makeFapi2Client(house)
  if (demandsDpopNonces) await setProfile(db, made.client, { demandsDpopNonces }, house.act())
  return made
}

const now = () => Math.floor(house.clock.now().getTime() / 1000)
const nowAndBy = (offsets: Record<string, number>) =>
  Object.fromEntries(Object.entries(offsets).map(([name, seconds]) => [name, now() + seconds]))

/** What differs from what is right; undefined leaves out, and `from` is seconds from now. */
export interface Wrong {
  readonly header?: object
  readonly claims?: object
  readonly from?: Record<string, number>
  readonly signer?: RawSigner
}

export function assertion({ header, claims, from = {}, signer }: Wrong = {}, of = by): string {
  const { id } = of.client
  const said = { iss: id, sub: id, aud: house.baseUrl, jti: randomUUID(), iat: now(), exp: now() + 60 }
  return signRaw(
    { alg: 'ES256', kid: of.key.publicJwk.kid, ...header },
    { ...said, ...nowAndBy(from), ...claims },
    signer ?? byEs256(of.key.privateKey),
  )
}

const tokenPath = '/v1/oauth/accesstoken'
export const tokenUrl = house.baseUrl + tokenPath
export const profileUrl = `${house.baseUrl}/v1/user/profile`

export function proof({ header, claims, from = {}, signer }: Wrong = {}): string {
  return signRaw(
    { alg: 'ES256', typ: 'dpop+jwt', jwk: bareJwk(dpopKey), ...header },
    { jti: randomUUID(), htm: 'POST', htu: tokenUrl, iat: now(), ...nowAndBy(from), ...claims },
    signer ?? byEs256(dpopKey.privateKey),
  )
}

/** A request that would be answered with tokens. */
export const ask = (
  more: Partial<Parameters<typeof callAs>[2]> = {},
  { of = by, path = tokenPath }: { of?: Fapi2Client; path?: string } = {},
) => callAs(of, path, { dpopKey, ...more, fields: { grant_type: 'client_credentials', ...more.fields } })

const once = <Made>(make: () => Promise<Made>) => {
  let made: Promise<Made> | undefined
  return () => (made ??= make())
}
/** Made when they are asked for first. */
export const boundTokens = once(() => getTokens(by, dpopKey, { scope: 'read trade' }))
export const otherTokens = once(() => getTokens(other, dpopKey))
/** Bound to the certificate that the client came with; it was authenticated by it, too. */
export const certifiedTokens = once(async () => {
  const pkce = makePkce()
  const code = await makeCode(by, pkce)
  const fields = { client_id: by.client.id, client_assertion: [], client_assertion_type: [] }
  const answer = await exchange(by, undefined, code, pkce, { fields, headers: headerOf(certificate) })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<BoundTokens>()
})

export const resourceProof = async (token: string) =>
  signProof(by, dpopKey, { method: 'GET', url: profileUrl, token })

/**
 * Passkeys (WebAuthn), as a second factor, and alone where the device verifies the person. The challenge goes to the browser beside a sealed copy of itself,
 * bound to user, site and purpose; it can be answered once, within five minutes. What is signed names the
 * origin, so that a page of another site gains nothing from asking.
 */

import { randomBytes } from 'node:crypto'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { after, hour, minute } from '../clock.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { Brand } from '../vocabulary/brand.ts'
import type { Environment } from '../vocabulary/environment.ts'
import * as table from './passkeys.sql.ts'
import type { User } from './user.ts'

/** EdDSA, ES256 and RS256, as COSE numbers them: what every authenticator has one of. */
const algorithms = [-8, -7, -257]
const challengeLifetimeMs = 5 * minute
export const passkeysPerUser = 10

/** A site as authenticators know it. */
export interface PasskeySite {
  readonly environment: Environment
  readonly origin: string
  readonly host: string
}

export interface Passkey {
  readonly id: number
  readonly environment: Environment
  readonly credentialId: string
  readonly transports: readonly string[]
  readonly name: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** What the page needs to ask the browser, and what has to come back with the answer. */
export interface PasskeyChallenge<Options> {
  readonly options: Options
  readonly sealed: string
}

/** An answer of the browser, as it came: the text, and the sealed challenge of the page that asked. */
export interface PasskeyAnswer {
  readonly response: string
  readonly sealed: string
}

/** The library is large: it is loaded at the first use of a passkey. */
const library = () => import('@simplewebauthn/server')

export function listPasskeys(sql: Sql, userId: string): Promise<Passkey[]> {
  return sql.query(table.selectPasskeys, { userId })
}

export async function askForNew(
  vault: Vault,
  site: PasskeySite,
  brand: Pick<Brand, 'name'>,
  user: User,
  known: readonly Passkey[],
  now: Date,
): Promise<PasskeyChallenge<PublicKeyCredentialCreationOptionsJSON>> {
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpName: brand.name,
    rpID: site.host,
    userName: user.username,
    userDisplayName: user.name,
    userID: new TextEncoder().encode(user.id),
    excludeCredentials: credentialsOf(site, known),
    supportedAlgorithmIDs: algorithms,
  })
  return { options, sealed: sealChallenge(vault, 'new', site, user.id, options.challenge, now) }
}

export async function askForKnown(
  vault: Vault,
  site: PasskeySite,
  user: User,
  known: readonly Passkey[],
  now: Date,
): Promise<PasskeyChallenge<PublicKeyCredentialRequestOptionsJSON>> {
  const { generateAuthenticationOptions } = await library()
  const allowCredentials = credentialsOf(site, known)
  const options = await generateAuthenticationOptions({ rpID: site.host, allowCredentials })
  return { options, sealed: sealChallenge(vault, 'known', site, user.id, options.challenge, now) }
}

/**
 * Where nobody is known yet: whichever passkey of this site the device finds, once it has verified the person.
 * The page is shown to many who have none, so the library is left alone.
 */
export function askForAny(
  vault: Vault,
  site: PasskeySite,
  now: Date,
): PasskeyChallenge<PublicKeyCredentialRequestOptionsJSON> {
  const challenge = randomBytes(32).toString('base64url')
  return {
    options: { challenge, rpId: site.host, allowCredentials: [], userVerification: 'required' },
    sealed: sealChallenge(vault, 'first', site, nobody, challenge, now),
  }
}

/** Who registered the passkey that an answer names; nothing is proven by that. */
export async function findOwner(
  sql: Sql,
  { environment }: PasskeySite,
  response: string,
): Promise<{ readonly credentialId: string; readonly userId: string } | undefined> {
  const credentialId = parseResponse<AuthenticationResponseJSON>(response)?.id
  if (credentialId === undefined) return undefined
  const [owner] = await sql.query(table.selectOwner, { environment, credentialId })
  return owner && { credentialId, userId: owner.userId }
}

/** False when the answer proves nothing, or the credential is registered already. */
export async function addPasskey(
  sql: Sql,
  vault: Vault,
  site: PasskeySite,
  userId: string,
  { name, response, sealed }: PasskeyAnswer & { name: string },
  now: Date,
): Promise<boolean> {
  const challenge = openChallenge(vault, 'new', site, userId, sealed, now)
  const parsed = parseResponse<RegistrationResponseJSON>(response)
  if (challenge === undefined || !parsed || !(await spend(sql, challenge, now))) return false
  const { verifyRegistrationResponse } = await library()
  const verified = await verifyRegistrationResponse({
    response: parsed,
    supportedAlgorithmIDs: algorithms,
    ...expectedOf(site, challenge),
  }).catch(() => undefined)
  if (!verified?.verified) return false
  const { id, publicKey, counter } = verified.registrationInfo.credential
  const transports = (parsed.response.transports ?? [])
    .filter((each) => /^[a-z-]{1,20}$/.test(each))
    .slice(0, 10)
  const values = {
    userId,
    environment: site.environment,
    credentialId: id,
    publicKey: Buffer.from(publicKey),
    counter,
    transports,
    name,
    createdAt: now,
  }
  return (await sql.query(table.insertPasskey, values)).length > 0
}

export async function usePasskey(
  sql: Sql,
  vault: Vault,
  site: PasskeySite,
  userId: string,
  { response, sealed }: PasskeyAnswer,
  now: Date,
  /** `first`: nothing was proven before, so the device has to say whom it verified. */
  purpose: 'known' | 'first' = 'known',
): Promise<boolean> {
  const isFirst = purpose === 'first'
  const challenge = openChallenge(vault, purpose, site, isFirst ? nobody : userId, sealed, now)
  const parsed = parseResponse<AuthenticationResponseJSON>(response)
  if (challenge === undefined || !parsed || !(await spend(sql, challenge, now))) return false
  if (isFirst && parsed.response.userHandle !== Buffer.from(userId).toString('base64url')) return false
  const [key] = await sql.query(table.selectPasskey, {
    userId,
    environment: site.environment,
    credentialId: parsed.id,
  })
  if (!key) return false
  const { verifyAuthenticationResponse } = await library()
  const { credentialId: id, counter, transports } = key
  const credential = {
    ...{ id, counter, transports: [...transports] },
    publicKey: new Uint8Array(key.publicKey),
  }
  const verified = await verifyAuthenticationResponse({
    response: parsed,
    credential,
    ...expectedOf(site, challenge),
    requireUserVerification: isFirst,
  }).catch(() => undefined)
  if (!verified?.verified) return false
  const used = { id: key.id, counter: verified.authenticationInfo.newCounter, lastUsedAt: now }
  return (await sql.query(table.usePasskey, used)).length > 0
}

/** The name of the one that was removed. */
export async function removePasskey(sql: Sql, userId: string, id: number): Promise<string | undefined> {
  const [removed] = await sql.query(table.deletePasskey, { id, userId })
  return removed?.name
}

export async function removePasskeysOf(sql: Sql, userId: string): Promise<void> {
  await sql.query(table.deletePasskeysOf, { userId })
}

/** Challenges are not believed for as long as they are remembered. */
export function removeOldChallenges(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldChallenges, { until: after(now, -hour), most })
}

/** Whether the person was verified is left to the device where the password came before. */
function expectedOf({ origin, host }: PasskeySite, expectedChallenge: string) {
  return { expectedChallenge, expectedOrigin: origin, expectedRPID: host, requireUserVerification: false }
}

function credentialsOf({ environment }: PasskeySite, known: readonly Passkey[]) {
  return known
    .filter((each) => each.environment === environment)
    .map(({ credentialId: id, transports }) => ({ id, transports: [...transports] }))
}

type ChallengePurpose = 'new' | 'known' | 'first'

/** Whom a challenge is for that is shown before anybody is known. */
const nobody = ''

const purposeOf = (purpose: ChallengePurpose, { environment }: PasskeySite, userId: string) =>
  `passkey-${purpose}:${environment}:${userId}`

function sealChallenge(
  vault: Vault,
  purpose: ChallengePurpose,
  site: PasskeySite,
  userId: string,
  challenge: string,
  now: Date,
): string {
  const text = `${now.getTime() + challengeLifetimeMs} ${challenge}`
  return vault.seal(purposeOf(purpose, site, userId), text).toString('base64url')
}

function openChallenge(
  vault: Vault,
  purpose: ChallengePurpose,
  site: PasskeySite,
  userId: string,
  sealed: string,
  now: Date,
): string | undefined {
  const text = vault.open(purposeOf(purpose, site, userId), Buffer.from(sealed, 'base64url'))
  const [endsAt, challenge] = text?.split(' ') ?? []
  return Number(endsAt) > now.getTime() ? challenge : undefined
}

async function spend(sql: Sql, challenge: string, now: Date): Promise<boolean> {
  return (await sql.query(table.spendChallenge, { challenge, spentAt: now })).length > 0
}

/** Only as much as is touched before the library judges the rest. */
function parseResponse<Response extends { id: string; response: object }>(
  text: string,
): Response | undefined {
  try {
    const parsed = JSON.parse(text)
    const isOne =
      typeof parsed?.id === 'string' && !parsed.id.includes('\0') && typeof parsed.response === 'object'
    return isOne && parsed.response !== null ? parsed : undefined
  } catch {
    return undefined
  }
}

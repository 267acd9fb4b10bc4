/**
 * The credential of a provider runs out and is replaced: from the next sign-in on, on every node, and nobody
 * is signed out.
 */

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { generateKey, openVault, sealedKeyId } from '../../src/crypto/vault.ts'
import { reseal } from '../../src/database/reseal.ts'
import {
  getProvider,
  readCredential,
  removeProvider,
  replaceCredential,
  sealedProviders,
} from '../../src/identity/provider.ts'
import type { ProviderCredential } from '../../src/identity/provider-draft.ts'
import { testProvider } from '../../src/identity/provider-test.ts'
import { ask } from '../support/ask.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'
import {
  clientSecret,
  makeCustomer,
  openUpstream,
  registerUpstream,
  signInThere,
} from '../support/upstream.ts'
import { isSignedIn } from '../support/web.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'provider' })
const second = await openHouse(house.settings)
const { db, vault, upstreams } = house.gateway.context
const redirect_uris = [house, second].map(({ baseUrl }) => `${baseUrl}/login/from/bank`)
const people = { 'sub-ada': { customer_id: 'C-1' } }
const upstream = await keepOpen(openUpstream(house, { name: 'bank', people, client: { redirect_uris } }))
const provider = await registerUpstream(house, upstream, 'bank')
await makeCustomer(house, 'C-1')

const replace = (given: ProviderCredential, of = provider) =>
  replaceCredential(db, vault, of, given, house.act())
const secret = (credential: string): ProviderCredential => ({ proof: 'client_secret_basic', credential })

/**
 * On each node; a provider that takes the request itself over TLS (PAR) turns the gateway away before anybody
 * is sent there.
 */
async function statusesOfSignIns(): Promise<number[]> {
  const statuses = []
  for (const { baseUrl } of [house, second]) {
    const browser = new Browser(baseUrl)
    const start = await browser.get('/login')
    const answer =
      start.status === 303 ? await browser.get(await upstream.signIn(start.location!, 'sub-ada')) : start
    statuses.push(answer.status)
  }
  return statuses
}

const links = () => ask(db, 'SELECT issuer, subject, user_id FROM identities')

test('every node asks with the new credential from the next sign-in on; whoever is signed in or linked stays so', async () => {
  const before = new Browser(house.baseUrl)
  await signInThere(before, upstream, 'sub-ada')
  assert.deepEqual(await statusesOfSignIns(), [303, 303])
  const linked = await links()
  await replace(secret('one that the provider does not know'))
  assert.deepEqual(await statusesOfSignIns(), [503, 503])
  await replace(secret(clientSecret))
  assert.deepEqual(await statusesOfSignIns(), [303, 303])
  assert.equal(await isSignedIn(before), true)
  assert.deepEqual(await links(), linked)
})

test('with a credential that has run out the login page says who has to fix it, and the log what the provider answered', async () => {
  await replace(secret('one that has run out'))
  const page = await new Browser(house.baseUrl).get('/login')
  assert.equal(page.status, 503)
  assert.match(
    page.text,
    /Example Bank ID<\/strong>, which does not let this site ask for that at the moment/,
  )
  const [entry] = await findEntries(db, { action: 'identity.refused', limit: 1 })
  assert.equal(entry!.subject, 'provider:bank')
  assert.match(String(entry!.details.why), /^it answered 401 invalid_client/)
  await replace(secret(clientSecret))
})

test('whoever is on the way back while the credential is replaced comes in with the new one', async () => {
  const browser = new Browser(house.baseUrl)
  const back = await upstream.signIn((await browser.get('/login')).location!, 'sub-ada')
  await replace(secret('one that the provider does not know'))
  await replace(secret(clientSecret))
  assert.equal((await browser.get(back)).status, 303)
})

test('whoever is on the way back when it runs out is told, and the log has what the provider answered', async () => {
  const browser = new Browser(house.baseUrl)
  const back = await upstream.signIn((await browser.get('/login')).location!, 'sub-ada')
  await replace(secret('one that has run out'))
  assert.equal((await browser.get(back)).status, 403)
  const [entry] = await findEntries(db, { action: 'identity.refused', limit: 1 })
  assert.match(String(entry!.details.why), /^it answered 401 invalid_client/)
  await replace(secret(clientSecret))
})

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

test('a secret becomes a key at once: who found the provider before is not told to send the one as the other', async () => {
  const jwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'gateway', use: 'sig', alg: 'ES256' }
  const client = {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [jwk] },
    client_secret: undefined,
  }
  const keyed = await keepOpen(openUpstream(house, { name: 'keyed', people, client }))
  const foundBefore = await registerUpstream(house, keyed, 'keyed')
  const clientOf = async () =>
    (await testProvider(upstreams, house.clock, foundBefore)).find(({ check }) => check === 'Client')!.state
  assert.equal(await clientOf(), 'wrong')
  await replace({ proof: 'private_key_jwt', credential: pem }, foundBefore)
  assert.equal(await clientOf(), 'good')
  await removeProvider(db, foundBefore, house.act())
})

test('what is no credential is refused with its field, and the one before stays', async () => {
  const before = await getProvider(db, 'bank')
  const key = /: key must be a private key in PEM/
  for (const [given, why] of [
    [secret(''), /: secret is missing/],
    [{ proof: 'client_secret_post', credential: '' }, /: secret is missing/],
    [{ proof: 'private_key_jwt', credential: 'a secret' }, key],
    [{ proof: 'private_key_jwt', credential: '' }, key],
    [
      {
        proof: 'private_key_jwt',
        credential: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      },
      key,
    ],
  ] satisfies [ProviderCredential, RegExp][])
    await assert.rejects(replace(given), why)
  assert.deepEqual(await getProvider(db, 'bank'), before)
  assert.deepEqual(await readCredential(db, vault, provider), secret(clientSecret))
})

test('it is recorded that the credential was replaced and how it is proven, and it stands nowhere in clear', async () => {
  const hidden = `hunter2-${makeUpWord()}`
  house.clock.advance(1_000)
  await replace({ proof: 'client_secret_post', credential: hidden })
  const [entry] = await findEntries(db, { action: 'provider.credential_replaced', limit: 1 })
  assert.deepEqual([entry!.subject, entry!.details], ['provider:bank', { proof: 'client_secret_post' }])
  const { proof, credentialAt, createdAt } = await getProvider(db, 'bank')
  assert.deepEqual([proof, credentialAt], ['client_secret_post', house.clock.now()])
  assert.ok(credentialAt > createdAt)
  const text = 'SELECT p::text AS row FROM identity_providers p UNION ALL SELECT e::text FROM audit_entries e'
  const rows = await ask<{ row: string }>(db, text)
  assert.ok(
    !rows.some(({ row }) => row.includes(hidden) || row.includes(Buffer.from(hidden).toString('hex'))),
  )
})

test('a rotation of the sealing keys takes the new credential with it, and does not count as another one', async () => {
  await replace(secret('sealed anew'))
  const { credentialAt } = await getProvider(db, 'bank')
  const key = generateKey()
  const { keySource } = house.gateway.context.config
  assert.ok(keySource.kind === 'environment')
  const both = openVault({ kind: 'environment', keys: [key, ...keySource.keys] })
  await reseal(db, both, sealedProviders, () => {})
  const alone = openVault({ kind: 'environment', keys: [key] })
  assert.deepEqual(await readCredential(db, alone, provider), secret('sealed anew'))
  const [row] = await ask<{ sealed: Buffer }>(db, `SELECT sealed FROM identity_providers WHERE name = 'bank'`)
  assert.equal(sealedKeyId(row!.sealed), alone.currentKeyId)
  assert.deepEqual((await getProvider(db, 'bank')).credentialAt, credentialAt)
})

test('one that was removed meanwhile gets none', async () => {
  const gone = await registerUpstream(house, { issuer: 'https://127.0.0.1:9/gone' }, 'gone')
  await removeProvider(db, gone, house.act())
  await assert.rejects(replace(secret('too late'), gone), /There is no identity provider "gone" any more/)
})

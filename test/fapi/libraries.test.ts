/**
 * Libraries of partners go the whole way with FAPI 2.0, on TLS, with what discovery says alone: pushed requests,
 * keys, proofs with nonces and without, and certificates.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import type { Environment } from '../../src/vocabulary/environment.ts'
import type { Certificate } from '../support/certificate.ts'
import {
  approveAt,
  type Fetch,
  fetchWith,
  house,
  issueByAuthority,
  issueSelfSigned,
  keyOf,
  makeClient,
} from './libraries/house.ts'
import { openOauth4webapi } from './libraries/oauth4webapi.ts'
import { openOpenidClient } from './libraries/openid-client.ts'
import type { Program, Setup } from './libraries/program.ts'

interface Way {
  readonly by: string
  readonly signs?: 'ES256' | 'EdDSA' | 'PS256'
  readonly shows?: () => Certificate
  readonly binds: 'jkt' | 'x5t#S256'
  readonly demandsDpopNonces?: true
  readonly environment?: Environment
}

const ways: readonly Way[] = [
  { by: 'private_key_jwt and DPoP', signs: 'EdDSA', binds: 'jkt' },
  { by: 'the same with nonces', signs: 'ES256', binds: 'jkt', demandsDpopNonces: true },
  { by: 'a certificate that signs itself (RFC 8705 2.2)', shows: issueSelfSigned, binds: 'x5t#S256' },
  { by: 'a certificate of an authority (RFC 8705 2.1)', shows: issueByAuthority, binds: 'x5t#S256' },
  { by: 'private_key_jwt and a certificate', signs: 'PS256', shows: issueSelfSigned, binds: 'x5t#S256' },
  { by: 'a certificate and DPoP with nonces', shows: issueSelfSigned, binds: 'jkt', demandsDpopNonces: true },
  { by: 'a certificate in the sandbox', shows: issueSelfSigned, binds: 'x5t#S256', environment: 'sandbox' },
]
const libraries = { 'openid-client': openOpenidClient, oauth4webapi: openOauth4webapi }

for (const way of ways)
  for (const [library, open] of Object.entries(libraries))
    test(`${library} goes the whole way by ${way.by}`, async () => {
      const setup = await register(way)
      const told: string[] = []
      await goTheWholeWay(way, await open({ ...setup, fetch: noting(told, setup.fetch) }), setup.issuer)
      assert.equal(told.length > 0, way.demandsDpopNonces ?? false, `nonces: ${told}`)
    })

function noting(told: string[], fetch: Fetch): Fetch {
  return async (url, options) => {
    const answer = await fetch(url, options)
    const nonce = answer.headers.get('dpop-nonce')
    if (nonce !== null) told.push(nonce)
    return answer
  }
}

async function register(way: Way): Promise<Setup> {
  const { signs, shows, binds, environment = 'live', demandsDpopNonces = false } = way
  const keys = signs && (await generateKeyPair(signs))
  const shown = shows?.()
  const jwk = keys ? await exportJWK(keys.publicKey) : shows === issueSelfSigned ? keyOf(shown!) : undefined
  const { id } = await makeClient({ environment, demandsDpopNonces, jwk })
  return {
    issuer: new URL(environment === 'live' ? house.baseUrl : house.sandboxUrl),
    clientId: id,
    fetch: fetchWith(shown),
    key: keys?.privateKey,
    isBoundByCertificate: binds === 'x5t#S256',
  }
}

/** From discovery to the end of the last token. */
async function goTheWholeWay(way: Way, program: Program, issuer: URL): Promise<void> {
  const { environment = 'live', shows, binds } = way
  const scheme = binds === 'jkt' ? 'dpop' : 'bearer'
  const origin = shows ? program.mtlsOrigin : issuer
  const profile = new URL('/v1/user/profile', origin)
  const address = await program.start()
  assert.deepEqual([...address.searchParams.keys()].sort(), ['client_id', 'request_uri'])
  const first = await program.finish(await approveAt(address, environment))
  const second = await program.refresh(first.refresh_token!)
  for (const { access_token, token_type } of [first, second]) {
    assert.equal(token_type, scheme)
    assert.equal((await program.read(access_token, profile)).status, 200)
  }
  const authorization = `${scheme} ${second.access_token}`
  assert.equal(
    (await fetchWith()(profile.href, { headers: { authorization } })).status,
    401,
    'taken by another',
  )
  const { active, cnf } = await program.introspect(second.access_token)
  assert.deepEqual([active, Object.keys(cnf!)], [true, [binds]])
  await program.revoke(second.refresh_token!)
  assert.deepEqual(await program.introspect(second.access_token), { active: false })
  await assert.rejects(program.read(second.access_token, profile), { status: 401 })
  const forWebhooks = await program.getWebhookToken()
  assert.equal((await program.read(forWebhooks.access_token, new URL('/v2/webhooks', origin))).status, 200)
}

/**
 * RFC 7517, RFC 8037: what a site signs is verified by its public keys, also while keys are rotated, on
 * whichever node they are asked for.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { calculateJwkThumbprint, createRemoteJWKSet, decodeProtectedHeader, type JWK, jwtVerify } from 'jose'
import { minute } from '../../src/clock.ts'
import { openTokenSigner, type TokenSigner } from '../../src/crypto/token-signer.ts'
import { generateKey, makeKeyFile, readKeyFile, writeKeyFile } from '../../src/crypto/vault.ts'
import { everything } from '../../src/database/changes.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { ask } from '../support/ask.ts'
import { send } from '../support/browser.ts'
import { newFolder } from '../support/folder.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { hears, openSecondNode } from '../support/oauth.ts'

const path = '/.well-known/jwks.json'
const keyFile = join(newFolder('keys'), 'secret.keys')
makeKeyFile(keyFile)
const house = await openHouse({ SECRET_KEY: undefined, SECRET_KEY_FILE: keyFile })
const other = await keepOpen(openSecondNode(house))
const line = await keepOpen(
  Promise.resolve(
    openCommandLineAt({
      ...{ DATABASE_URL: house.databaseUrl, SECRET_KEY_FILE: keyFile, AUDIT_ANCHOR_FILE: 'off' },
    }),
  ),
)

/** Runs one of the commands that change keys, until both nodes have heard of it. */
async function change(word: 'rotate' | 'prune'): Promise<void> {
  const heard = [house.gateway, other].map((gateway) => hears(gateway, 'keys:rotated'))
  await line.read('keys', word)
  await Promise.all(heard)
}

/** As a site of this gateway signs. */
function signerOf({ context: { vault, clock } }: Gateway, environment = 'live'): TokenSigner {
  return openTokenSigner(vault, clock, `${environment} token-signature`)
}

async function publicKeys(baseUrl: string): Promise<readonly JWK[]> {
  const answer = await send(baseUrl + path)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers['cache-control'], 'public, max-age=60')
  return answer.json<{ keys: JWK[] }>().keys
}

const kidsAt = async (baseUrl: string) => (await publicKeys(baseUrl)).map(({ kid }) => kid)
const kidOf = (token: string) => decodeProtectedHeader(token).kid

/** A verifier of the brokerage, which keeps keys and asks again at one that it does not know. */
function openVerifier(baseUrl: string) {
  const keys = createRemoteJWKSet(new URL(baseUrl + path), { cooldownDuration: 0 })
  return async (token: string) => {
    const options = { algorithms: ['EdDSA'], typ: 'example+jwt', currentDate: house.clock.now() }
    return (await jwtVerify(token, keys, options)).payload
  }
}

test('each site publishes keys of its own, by their thumbprints and without their private part', async () => {
  const { jwks_uri } = (await send(`${house.baseUrl}/.well-known/oauth-authorization-server`)).json()
  assert.equal(jwks_uri, house.baseUrl + path)
  const [live, sandbox] = await Promise.all([publicKeys(house.baseUrl), publicKeys(house.sandboxUrl)])
  for (const key of [...live, ...sandbox]) {
    const { kid, x, ...rest } = key
    assert.deepEqual(rest, { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' })
    assert.equal(kid, await calculateJwkThumbprint(key))
    assert.equal(Buffer.from(x!, 'base64url').length, 32)
  }
  assert.equal(new Set([...live, ...sandbox].map(({ x }) => x)).size, 2)
  assert.deepEqual(await publicKeys(other.baseUrl), live)
})

test('what one site signs does not verify at the other, nor as another type, nor changed', async () => {
  const [live, sandbox] = [openVerifier(house.baseUrl), openVerifier(house.sandboxUrl)]
  const signer = signerOf(house.gateway)
  const token = signer.sign('example+jwt', { sub: 'ä' })
  assert.deepEqual(await live(token), { sub: 'ä' })
  await assert.rejects(sandbox(token), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
  await assert.rejects(live(signer.sign('other+jwt', {})), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' })
  const [head, , signature] = token.split('.')
  const changed = Buffer.from('{"sub":"b"}').toString('base64url')
  await assert.rejects(live(`${head}.${changed}.${signature}`), {
    code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  })
})

test('through a rotation every token verifies at every node, and a pruned key ends', async () => {
  const [verifyHere, verifyThere] = [openVerifier(house.baseUrl), openVerifier(other.baseUrl)]
  const signers = [signerOf(house.gateway), signerOf(other)]
  const verifyAll = async () => {
    const tokens = signers.map((signer) => signer.sign('example+jwt', {}))
    for (const token of tokens) for (const verify of [verifyHere, verifyThere]) await verify(token)
    return tokens
  }
  const [before] = await verifyAll()
  const [old] = await kidsAt(house.baseUrl)

  await change('rotate')
  const both = await kidsAt(house.baseUrl)
  assert.deepEqual([both.length, both[1]], [2, old])
  assert.deepEqual(await kidsAt(other.baseUrl), both)
  assert.deepEqual((await verifyAll()).map(kidOf), [old, old], 'a new key is published before it signs')
  house.clock.advance(2 * minute)
  const rotated = await verifyAll()
  assert.deepEqual(rotated.map(kidOf), [both[0], both[0]])
  await verifyHere(before!)

  await change('prune')
  assert.deepEqual(await kidsAt(house.baseUrl), [both[0]])
  assert.deepEqual(await kidsAt(other.baseUrl), [both[0]])
  await verifyAll()
  await assert.rejects(openVerifier(house.baseUrl)(before!), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
})

test('a leaked key that is rotated and pruned at once signs nothing more', async () => {
  const signer = signerOf(house.gateway)
  const leaked = kidOf(signer.sign('example+jwt', {}))
  await change('rotate')
  await change('prune')
  const token = signer.sign('example+jwt', {})
  assert.notEqual(kidOf(token), leaked)
  assert.deepEqual(await openVerifier(house.baseUrl)(token), {})
})

test('a node that may have missed a rotation, because its connection was lost, reads the keys again', async () => {
  const known = await kidsAt(other.baseUrl)
  writeKeyFile(keyFile, [generateKey(), ...readKeyFile(keyFile)])
  assert.deepEqual(await kidsAt(other.baseUrl), known, 'nobody has told it')
  const lost = hears(other, everything)
  await ask(
    house.gateway.context.db,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
      AND query LIKE 'LISTEN%changes%'`,
  )
  await lost
  assert.deepEqual((await kidsAt(other.baseUrl)).slice(1), known)
})

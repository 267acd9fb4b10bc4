/** RFC 6750, RFC 9470 and RFC 9728: what @countersign/resource answers to those with too little. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Access } from '../../resource/src/access.ts'
import { openDemand, type Requirements } from '../../resource/src/demand.ts'

const metadataUrl = 'https://api.example.com/.well-known/oauth-protected-resource'
const nowMs = Date.parse('2026-03-02T10:00:00Z')
const access: Access = {
  subject: 'id-1',
  scopes: ['read', 'market'],
  accounts: ['A1', 'A2'],
  audience: [],
  isBound: false,
  authenticatedAtMs: nowMs - 300_000,
  acr: 'urn:countersign:acr:second-factor',
  expiresAtMs: nowMs + 60_000,
  customer: undefined,
  username: undefined,
  client: undefined,
  partner: undefined,
  grant: undefined,
}

const refusal = (requirements: Requirements, account?: string, held = access) =>
  openDemand(requirements, metadataUrl).findRefusal(held, account, nowMs)

test('nothing is wrong with whoever has all that is asked for', () => {
  const acr = (name: string) => ({ scope: 'read', acrValues: [`urn:countersign:acr:${name}`] })
  for (const enough of [{ scope: 'read' }, { scope: 'market read' }, acr('second-factor'), acr('password')])
    assert.equal(refusal(enough, 'A2'), undefined)
  assert.equal(refusal({ scope: 'read', maxAgeSeconds: 300 }), undefined)
})

test('without a credential the challenge names what is needed, and no error', () => {
  const { status, headers, body } = openDemand({ scope: 'trade' }, metadataUrl).refuse(undefined, 'Send one.')
  assert.equal(status, 401)
  assert.equal(
    headers['www-authenticate'],
    `Bearer realm="countersign", scope="trade", resource_metadata="${metadataUrl}"`,
  )
  assert.deepEqual(body, { error: 'unauthorized', error_description: 'Send one.' })
})

test('a missing scope is 403, with what is needed beside what is held', () => {
  const refused = refusal({ scope: 'read trade' })!
  assert.equal(refused.status, 403)
  assert.equal(
    refused.headers['www-authenticate'],
    'Bearer realm="countersign", error="insufficient_scope", error_description="This token lacks the scope trade.", ' +
      `scope="read trade market", resource_metadata="${metadataUrl}"`,
  )
})

test('an account that was not shared is 403, and so is one that has no name', () => {
  for (const account of ['A3', '', 'a1', 'A1 A2']) {
    const refused = refusal({ scope: 'read' }, account)!
    assert.equal(refused.status, 403)
    assert.equal(refused.body.error, 'account_not_shared')
    assert.match(refused.headers['www-authenticate']!, /error="insufficient_scope"/)
  }
})

test('a sign-in that is too old, too weak or that nobody tells of is a step-up challenge (RFC 9470)', () => {
  const passkey = ['urn:countersign:acr:passkey']
  const needs = { scope: 'read', maxAgeSeconds: 299, acrValues: passkey }
  const expected =
    'Bearer realm="countersign", error="insufficient_user_authentication", ' +
    'error_description="The user must sign in again, or in a stronger way.", scope="read", max_age="299", ' +
    `acr_values="${passkey[0]}", resource_metadata="${metadataUrl}"`
  for (const held of [
    { ...access, acr: passkey[0] },
    { ...access, authenticatedAtMs: nowMs },
    { ...access, authenticatedAtMs: undefined, acr: passkey[0] },
    { ...access, authenticatedAtMs: nowMs, acr: undefined },
    { ...access, authenticatedAtMs: nowMs, acr: 'passkey' },
  ]) {
    const refused = refusal(needs, undefined, held)!
    assert.equal(refused.status, 401)
    assert.equal(refused.headers['www-authenticate'], expected)
  }
  assert.equal(refusal(needs, undefined, { ...access, authenticatedAtMs: nowMs, acr: passkey[0] }), undefined)
})

test('a route that asks for nothing, or for what a header cannot say, is refused when it is made', () => {
  const wrong: Requirements[] = [
    { scope: '' },
    { scope: 'read"' },
    { scope: 'read\r\nx: y' },
    { scope: 'read', acrValues: [] },
    { scope: 'read', acrValues: ['a"b'] },
    { scope: 'read', maxAgeSeconds: -1 },
    { scope: 'read', maxAgeSeconds: Number.NaN },
  ]
  for (const each of wrong) assert.throws(() => openDemand(each, undefined), TypeError)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/text.ts'
import { minute } from '../clock.ts'
import { generateKey, openVault } from '../crypto/vault.ts'
import { encodeFormBytes, parseForm, parseFormBytes } from '../http/form.ts'
import type { Registration } from '../partners/client.ts'
import {
  type AuthorizationRequest,
  checkRecipient,
  judgeRequest,
  printCallback,
  printErrorCallback,
  sealRequest,
  unsealRequest,
} from './authorization-request.ts'
import { OAuthError } from './oauth-error.ts'

const client: Registration = {
  id: 'A'.repeat(24),
  branchId: 1,
  environment: 'live',
  name: 'Portfolio Pal',
  callbackUrl: 'https://app.example.com/cb?tenant=7',
  scopes: ['read', 'market', 'trade'],
  scopesAtMost: ['read', 'market', 'trade'],
  scopesRequired: [],
  status: 'active',
  rotateRefreshTokens: false,
  createdAt: new Date(0),
  partnerName: 'Partner',
  partnerStatus: 'approved',
  refreshAccess: true,
  secrets: [],
  keys: [],
  fapi2From: null,
  fapi2EndsBearers: true,
  jwksUri: null,
  certificateSubject: null,
  demandsDpopNonces: false,
}
const now = new Date('2026-03-02T10:00:00Z')
const vault = openVault({ kind: 'environment', keys: [generateKey()] })
const live = { vault, environment: 'live' } as const

function judge(query: string) {
  return judgeRequest({ query: parseForm(query), bytes: parseFormBytes(query), pushed: false }, client, now)
}

function judgeSound(query: string): AuthorizationRequest {
  const judged = judge(query)
  assert.equal(judged.kind, 'sound')
  return (judged as { request: AuthorizationRequest }).request
}

/** From the address bar through the seal to the callback. */
function travel(encodedState: string): string {
  const request = judgeSound(`client_id=${client.id}&scope=read&state=${encodedState}`)
  const unsealed = unsealRequest(live, sealRequest(live, request), now)
  return printCallback(
    unsealed!.callbackUrl,
    { code: 'c0de', iss: 'https://api.example.com' },
    unsealed!.state,
  )
}

const printable = anyText({ minLength: 1, maxLength: 300 }).map((text) => text.replaceAll(/\p{Cc}/gu, '%'))

test('any printable state survives the whole way, for every way in which a client encodes and decodes it', () => {
  const encoders = [
    (text: string) => encodeURIComponent(text),
    (text: string) => new URLSearchParams({ x: text }).toString().slice(2),
    (text: string) => encodeFormBytes(Buffer.from(text).toString('latin1')),
  ]
  fc.assert(
    fc.property(printable, fc.constantFrom(...encoders), (state, encode) => {
      const location = travel(encode(state))
      assert.equal(new URL(location).searchParams.get('state'), state)
      assert.equal(decodeURIComponent(/[?&]state=([^&]*)/.exec(location)![1]!), state)
      assert.deepEqual([...new URL(location).searchParams.keys()], ['tenant', 'code', 'state', 'iss'])
    }),
    { numRuns: 300 },
  )
})

test('any bytes above the control characters survive, also those that are not UTF-8', () => {
  const bytes = fc
    .uint8Array({ min: 0x20, minLength: 1, maxLength: 300 })
    .filter((array) => !array.includes(0x7f))
  fc.assert(
    fc.property(bytes, (array) => {
      const sent = [...array].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
      const echoed = /[?&]state=([^&]*)/.exec(travel(sent))![1]!
      const received = echoed.replaceAll(/%(..)/g, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      )
      assert.deepEqual([...Buffer.from(received, 'latin1')], [...array])
    }),
    { numRuns: 300 },
  )
})

test('a state with a control character anywhere is refused and not echoed', () => {
  const control = fc.constantFrom(
    ...Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)),
    '\x7f',
  )
  fc.assert(
    fc.property(fc.string(), control, fc.string(), (before, character, after) => {
      const judged = judge(`scope=read&state=${encodeURIComponent(before + character + after)}`)
      assert.equal(judged.kind, 'refused')
      assert.ok(
        judged.kind === 'refused' && judged.error.code === 'invalid_request' && judged.state === undefined,
      )
    }),
  )
})

test('a callback is a header value: no parameter of any content breaks the line', () => {
  const anything = anyText()
  const bytes = fc.uint8Array().map((array) => Buffer.from(array).toString('latin1'))
  fc.assert(
    fc.property(anything, bytes, (code, state) => {
      const location = printCallback(client.callbackUrl, { code, iss: 'https://api.example.com' }, state)
      assert.match(location, /^[\x21-\x7e]+$/)
      assert.ok(location.startsWith(`${client.callbackUrl}&`))
    }),
  )
})

test('the registered callback is kept byte for byte, with the right joint', () => {
  const joints = {
    'https://a/b': '?',
    'https://a/b?': '',
    'https://a/b?c': '&',
    'https://a/b?c=d&': '',
    'https://a': '?',
  }
  for (const [callback, joint] of Object.entries(joints)) {
    assert.equal(
      printCallback(callback, { code: 'c', iss: 'i' }, 's'),
      `${callback}${joint}code=c&state=s&iss=i`,
    )
  }
})

test('an error callback tells the error, the issuer, and the state only when there is one', () => {
  const error = new OAuthError('invalid_scope', 'scope is missing.')
  const [told, untold] = ['st', undefined].map(
    (state) => new URL(printErrorCallback('https://a/b', error, state, 'https://i')).searchParams,
  )
  assert.deepEqual(Object.fromEntries(told!), {
    error: 'invalid_scope',
    state: 'st',
    error_description: 'scope is missing.',
    iss: 'https://i',
  })
  assert.equal(untold!.has('state'), false)
})

test('a sealed request can be opened for 30 minutes, in its own environment, and not after one bit has changed', () => {
  const request = judgeSound('scope=trade,read&state=st')
  const sealed = sealRequest(live, request)
  const later = (ms: number) => new Date(now.getTime() + ms)
  assert.deepEqual(unsealRequest(live, sealed, later(30 * minute - 1))?.scopes, ['read', 'trade'])
  assert.equal(unsealRequest(live, sealed, later(30 * minute)), undefined)
  assert.equal(unsealRequest({ vault, environment: 'sandbox' }, sealed, now), undefined)
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 0, max: 7 }), (place, bit) => {
      const bytes = Buffer.from(sealed, 'base64url')
      bytes[place % bytes.length]! ^= 1 << bit
      assert.equal(unsealRequest(live, bytes.toString('base64url'), now), undefined)
    }),
  )
})

test('every request has an id of its own, so that each can be answered once', () => {
  const ids = Array.from({ length: 100 }, () => judgeSound('scope=read&state=st').id)
  assert.equal(new Set(ids).size, 100)
})

test('a redirect_uri is the registered one or the request is not redirected at all', () => {
  const check = (redirect_uri: string | string[]) => () =>
    checkRecipient(Object.assign(parseForm(`client_id=${client.id}`), { redirect_uri }), client, 'live')
  assert.equal(check(client.callbackUrl)(), client)
  const other = anyText({ minLength: 1 }).filter((text) => text !== client.callbackUrl)
  fc.assert(fc.property(other, (text) => assert.throws(check(text), OAuthError)))
  fc.assert(
    fc.property(
      fc.nat(client.callbackUrl.length - 1),
      fc.string({ minLength: 1, maxLength: 1 }),
      (place, character) => {
        fc.pre(client.callbackUrl[place] !== character)
        const changed = client.callbackUrl.slice(0, place) + character + client.callbackUrl.slice(place + 1)
        assert.throws(check(changed), OAuthError)
      },
    ),
  )
  assert.throws(check([client.callbackUrl, client.callbackUrl]), OAuthError)
})

test('only an active client of an approved partner, in its own environment, is a recipient', () => {
  const query = parseForm(`client_id=${client.id}`)
  assert.equal(checkRecipient(query, client, 'live'), client)
  assert.throws(() => checkRecipient(query, client, 'sandbox'), OAuthError)
  assert.throws(() => checkRecipient(query, undefined, 'live'), OAuthError)
  for (const change of [
    { status: 'suspended' },
    { partnerStatus: 'applied' },
    { partnerStatus: 'suspended' },
  ] as const) {
    assert.throws(() => checkRecipient(query, { ...client, ...change }, 'live'), OAuthError)
  }
})

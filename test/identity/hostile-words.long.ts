/**
 * Whatever a provider says, in every place where it speaks: somebody is let in, or refused with a reason, and
 * nothing of ours breaks.
 */

import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { SignJWT } from 'jose'
import { findEntries } from '../../src/audit/audit.ts'
import { minute, second } from '../../src/clock.ts'
import { ask } from '../support/ask.ts'

import { Browser, hiddenFields, postForm } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import type { Lie } from '../support/upstream-program.ts'
import { isSignedIn } from '../support/web.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'provider' })
const { db } = house.gateway.context
const people = { 'sub-ada': { customer_id: 'C-1' } }
const bank = await keepOpen(openUpstream(house, { name: 'bank', people }))
await registerUpstream(house, bank, 'bank', { strongAmr: ['mfa'] })
await makeCustomer(house, 'C-1')
const member = { groups: ['audit'], name: 'Olga Operator', email: 'olga@example.com', email_verified: true }
const sso = await keepOpen(openUpstream(house, { name: 'staff', people: { 'sub-olga': member } }))
const roles = { rolesClaim: 'groups', roleMap: { audit: 'auditor' } } as const
await registerUpstream(house, sso, 'staff', { kind: 'staff', label: 'Staff ID', linkClaim: null, ...roles })

/** Sign-ins and wrong tokens are counted by the minute. */
async function nextMinute() {
  house.clock.advance(minute)
  await bank.keepTime()
  await sso.keepTime()
}

afterEach(async () => {
  await bank.lie(undefined)
  await sso.lie(undefined)
  await nextMinute()
})

/**
 * What JSON can hold and nobody meant; a claim that is undefined is left out. The door itself is tried with
 * more (claims.test.ts).
 */
const hostile: readonly unknown[] = [
  undefined,
  '',
  'a\0b',
  'x'.repeat(300),
  1e308,
  [],
  ['a\0b', 7],
  { toString: 1 },
]

const told = (value: unknown) => JSON.stringify(value)?.slice(0, 40) ?? 'nothing'

const signInAt = {
  bank: (browser: Browser) => signInThere(browser, bank, 'sub-ada'),
  sso: (browser: Browser) => signInThere(browser, sso, 'sub-olga', { path: '/login?return=%2Fconsole' }),
}

/** In, or not: never broken. A refusal has its reason in the audit log. */
async function assertAnswered(signIn: (browser: Browser) => ReturnType<typeof signInThere>, about: string) {
  const browser = new Browser(house.baseUrl)
  const { status, text } = await signIn(browser)
  assert.ok([303, 403, 503].includes(status), `${about}: ${status} ${text.slice(0, 300)}`)
  if (status === 303) return
  assert.equal(await isSignedIn(browser), false, about)
  const [, reference] = /reference <code>([^<]+)<\/code>/.exec(text)!
  const entries = await findEntries(db, { action: 'identity', limit: 5 })
  const why = entries.find(({ requestId }) => requestId === reference)?.details.why
  assert.ok(typeof why === 'string' && why !== '', `${about} has a reason`)
}

const lieOf = (name: string, value: unknown): Lie => ({ claims: { [name]: value ?? null } })

test('before anything else, whoever tells the truth is linked', async () => {
  assert.equal((await signInAt.bank(new Browser(house.baseUrl))).status, 303)
  assert.equal((await signInAt.sso(new Browser(house.baseUrl))).status, 303)
})

for (const name of [
  'sub',
  'sid',
  'azp',
  'auth_time',
  'acr',
  'amr',
  'customer_id',
  'iat',
  'exp',
  'nonce',
  'aud',
  'iss',
])
  test(`whatever an ID token says as ${name}, a customer is let in or refused with a reason`, async () => {
    for (const value of hostile) {
      await bank.lie(lieOf(name, value))
      await assertAnswered(signInAt.bank, `${name} ${told(value)}`)
    }
  })

for (const name of ['groups', 'name', 'email', 'email_verified'])
  test(`whatever a provider of staff says as ${name}, in the ID token or at its userinfo endpoint, they are let in or refused with a reason`, async () => {
    for (const value of hostile) {
      await sso.lie(lieOf(name, value))
      await assertAnswered(signInAt.sso, `${name} ${told(value)}`)
      await sso.lie({ claims: { [name]: null }, userInfo: { [name]: value } })
      await assertAnswered(signInAt.sso, `${name} ${told(value)} at userinfo`)
    }
  })

test('an ID token without a subject, or with an empty one, is refused', async () => {
  for (const sub of ['', null]) {
    await bank.lie({ claims: { sub } })
    assert.equal((await signInAt.bank(new Browser(house.baseUrl))).status, 403)
  }
})

test('an ID token that was issued to another client is refused, though it is for us alone', async () => {
  await bank.lie({ claims: { azp: 'another-client' } })
  assert.equal((await signInAt.bank(new Browser(house.baseUrl))).status, 403)
  const [entry] = await findEntries(db, { action: 'identity.refused', limit: 1 })
  assert.match(String(entry!.details.why), /another client \(azp\)/)
  await bank.lie({ claims: { azp: 'countersign' } })
  assert.equal((await signInAt.bank(new Browser(house.baseUrl))).status, 303)
})

const forget = () => ask(db, 'DELETE FROM provider_documents')

/**
 * Each that is read; those that are needed make the provider unusable, and without the others it does less.
 */
const metadata = [
  ...[
    'issuer',
    'authorization_endpoint',
    'token_endpoint',
    'jwks_uri',
    'id_token_signing_alg_values_supported',
  ],
  ...[
    'userinfo_endpoint',
    'end_session_endpoint',
    'pushed_authorization_request_endpoint',
    'acr_values_supported',
  ],
  ...['code_challenge_methods_supported', 'authorization_response_iss_parameter_supported'],
  ...['backchannel_logout_supported', 'backchannel_logout_session_supported', 'not_read_at_all'],
]
const away = [
  /address with http or https as (authorization_endpoint|token_endpoint|jwks_uri)/,
  /calls itself/,
  /no way that proves/,
]

for (const name of metadata)
  test(`whatever a provider says of itself as ${name}, people sign in and out, or it is not available and the audit log says why`, async () => {
    for (const value of [
      ...hostile,
      'http://login.example.com/x',
      'javascript:alert(1)',
      'https://a:b@login.example.com/',
    ]) {
      const about = `${name} ${told(value)}`
      await bank.lie({ metadata: { [name]: value ?? null } })
      await forget()
      const browser = new Browser(house.baseUrl)
      const start = await browser.get('/login')
      assert.ok([303, 503].includes(start.status), `${about}: ${start.status} ${start.text.slice(0, 300)}`)
      if (start.status === 503) {
        const [entry] = await findEntries(db, { action: 'identity.refused', limit: 1 })
        assert.ok(
          away.some((why) => why.test(String(entry!.details.why))),
          `${about}: ${entry!.details.why}`,
        )
      }
    }
  })

test('where a provider has no address for signing out that can be used, whoever signs out here is signed out here', async () => {
  for (const address of ['ftp://login.example.com/out', 'javascript:alert(1)', 'https://', 7]) {
    await bank.lie(undefined)
    await forget()
    const browser = new Browser(house.baseUrl)
    assert.equal((await signInAt.bank(browser)).status, 303)
    const page = await browser.get('/account')
    await bank.lie({ metadata: { end_session_endpoint: address } })
    await forget()
    const out = await browser.post('/logout', hiddenFields(page.text, '/logout'))
    assert.deepEqual([out.status, out.location], [303, '/login/signed-out'], `${address}: ${out.text}`)
  }
})

const key = createPrivateKey(bank.privateKey)
const jwk = { ...key.export({ format: 'jwk' }), kid: 'main', use: 'sig', alg: 'RS256' }
const publicKey = { kty: jwk.kty, n: jwk.n, e: jwk.e, kid: 'main', use: 'sig', alg: 'RS256' }
const event = 'http://schemas.openid.net/event/backchannel-logout'
const nowSeconds = () => Math.floor(house.clock.now().getTime() / second)

function makeLogoutToken(
  claims: Record<string, unknown>,
  head: Record<string, unknown> = {},
): Promise<string> {
  const all = {
    ...{ iss: bank.issuer, aud: 'countersign', iat: nowSeconds(), exp: nowSeconds() + 120 },
    ...{ jti: crypto.randomUUID(), events: { [event]: {} }, sub: 'sub-nobody' },
    ...claims,
  }
  const said = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new SignJWT(said)
    .setProtectedHeader({ alg: 'RS256', typ: 'logout+jwt', kid: 'main', ...head })
    .sign(key)
}

const sendToken = (token: string) => postForm(`${house.baseUrl}/logout/from/bank`, { logout_token: token })

for (const name of ['iss', 'aud', 'iat', 'exp', 'jti', 'events', 'sub', 'sid', 'nonce'])
  test(`whatever a logout token says as ${name}, it is taken or refused with a reason`, async () => {
    for (const value of hostile) {
      const answer = await sendToken(await makeLogoutToken({ [name]: value }))
      const about = `${name} ${told(value)}: ${answer.status} ${answer.text}`
      assert.ok([200, 400].includes(answer.status), about)
      if (answer.status === 400)
        assert.match(String(answer.json().error_description), /^The logout token is not valid: ./, about)
    }
  })

test('whatever stands in the head of a logout token, it is taken or refused with a reason', async () => {
  for (const name of ['kid', 'typ', 'cty', 'jwk', 'x5c']) {
    await nextMinute()
    for (const value of hostile) {
      const token = await makeLogoutToken({}, { [name]: value }).catch(() => undefined)
      if (token === undefined) continue
      const answer = await sendToken(token)
      assert.ok([200, 400].includes(answer.status), `${name} ${told(value)}: ${answer.status} ${answer.text}`)
    }
  }
})

test('whatever a provider says its keys are, people are let in or refused, and a logout token is taken, refused or asked for again', async () => {
  const documents = [
    ...hostile.map((keys) => ({ keys })),
    ...hostile,
    ...['kty', 'n', 'e', 'kid', 'use', 'alg', 'key_ops', 'not_read'].flatMap((name) =>
      hostile.map((value) => ({ keys: [{ ...publicKey, [name]: value }] })),
    ),
    { keys: [publicKey, publicKey] },
  ]
  for (const [index, keys] of documents.entries()) {
    if (index % 20 === 19) await nextMinute()
    const about = JSON.stringify(keys)?.slice(0, 600) ?? ''
    await bank.lie({ keys: keys ?? null })
    await ask(db, `DELETE FROM provider_documents WHERE kind = 'keys'`)
    house.clock.advance(11 * second)
    await bank.keepTime()
    const answer = await sendToken(await makeLogoutToken({}))
    assert.ok([200, 400, 503].includes(answer.status), `${about}: ${answer.status} ${answer.text}`)
    if (index % 8 === 0) await assertAnswered(signInAt.bank, about)
  }
})

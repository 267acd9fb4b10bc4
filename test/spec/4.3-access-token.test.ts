/** Spec 4.3: one code, one exchange, one access token. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { hour, minute, second } from '../../src/clock.ts'
import { issueToken } from '../../src/crypto/token.ts'
import { openLog } from '../../src/http/log.ts'
import { getPartner } from '../../src/partners/partner.ts'
import { setUserStatus } from '../../src/users/user.ts'
import { postForm, send } from '../support/browser.ts'
import { basic, openHouse, type TokenBody } from '../support/gateway.ts'
import { assertOAuthError, dumpTables, makeProof, openHolder, openSecondNode } from '../support/oauth.ts'

const house = await openHouse()
const client = await house.makeClient()
const holder = await openHolder(house)

// T6
test('a code is exchanged for an access token that reads the profile', async () => {
  const answer = await house.exchange(client, await house.makeCode(client, { scope: 'trade,read' }))
  assert.equal(answer.status, 200)
  const body = answer.json()
  assert.deepEqual(Object.keys(body).sort(), [
    'access_token',
    'expires_in',
    'issued_at',
    'refresh_token',
    'scope',
    'status',
    'token_type',
  ])
  assert.equal(body.token_type, 'Bearer')
  assert.equal(body.expires_in, 86_400)
  assert.equal(body.scope, 'read trade')
  assert.equal(body.status, 'approved')
  assert.match(String(body.issued_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
  assert.equal(Date.parse(String(body.issued_at)), house.clock.now().getTime())
  assert.equal(answer.headers['cache-control'], 'no-store')
  const profile = await house.profile((body as unknown as TokenBody).access_token)
  assert.equal(profile.status, 200)
})

// K2
test('a code is good at 599 seconds and dead at 600', async () => {
  const early = await holder.code(client)
  const late = await holder.code(client)
  house.clock.advance(10 * minute - second)
  assert.equal((await house.exchange(client, early)).status, 200)
  house.clock.advance(second)
  assertOAuthError(await house.exchange(client, late), 'invalid_grant')
})

// O4
test('a code that was seen expired stays dead when the clock steps back', async () => {
  const code = await holder.code(client)
  house.clock.advance(11 * minute)
  assertOAuthError(await house.exchange(client, code), 'invalid_grant')
  house.clock.advance(-10 * minute)
  assertOAuthError(await house.exchange(client, code), 'invalid_grant')
})

// O4
test('a code that was used stays used when the clock steps back', async () => {
  const code = await holder.code(client)
  house.clock.advance(minute)
  assert.equal((await house.exchange(client, code)).status, 200)
  house.clock.advance(-2 * minute)
  assertOAuthError(await house.exchange(client, code), 'invalid_grant')
})

// K3, K4
test('of 50 parallel exchanges of one code exactly one succeeds, and the others end what it was given', async () => {
  const code = await holder.code(client)
  const answers = await Promise.all(Array.from({ length: 50 }, () => house.exchange(client, code)))
  const won = answers.filter((answer) => answer.status === 200)
  assert.equal(won.length, 1)
  for (const answer of answers) if (answer !== won[0]) assertOAuthError(answer, 'invalid_grant')
  assert.equal((await house.profile(won[0]!.json<TokenBody>().access_token)).status, 401)
})

// K3
test('parallel exchanges of one code on two nodes have one winner', async () => {
  const node = await openSecondNode(house)
  try {
    const code = await holder.code(client)
    const fields = { grant_type: 'authorization_code', code }
    const urls = [house.baseUrl, node.baseUrl].map((origin) => `${origin}/v1/oauth/accesstoken`)
    const sent = Array.from({ length: 20 }, (_, index) => postForm(urls[index % 2]!, fields, basic(client)))
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 1)
  } finally {
    await node.close()
  }
})

// K3
test('parallel exchanges of 20 codes all succeed, each with tokens of its own', async () => {
  const codes: string[] = []
  const scopeOf = (count: number) => (count < 10 ? 'read' : 'read market')
  for (let count = 0; count < 20; count++) codes.push(await holder.code(client, { scope: scopeOf(count) }))
  const answers = await Promise.all(codes.map((code) => house.exchange(client, code)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  const bodies = answers.map((answer) => answer.json<TokenBody>())
  assert.equal(new Set(bodies.map((body) => body.access_token)).size, 20)
  assert.deepEqual(
    bodies.map((body) => body.scope),
    codes.map((_, index) => scopeOf(index)),
  )
})

// K1
test('a code is letters and digits with 256 random bits, and survives being decoded twice', async () => {
  const code = await holder.code(client)
  assert.match(code, /^cslc[A-Za-z0-9]{49}$/)
  assert.equal(decodeURIComponent(decodeURIComponent(code)), code)
})

// K1
test('the database holds no code, access token, refresh token or client secret that could be used', async () => {
  const unused = await holder.code(client)
  const code = await holder.code(client)
  const { access_token, refresh_token } = (await house.exchange(client, code)).json<TokenBody>()
  const dump = [...(await dumpTables(house)).values()].flat().join('\n')
  assert.ok(dump.includes(client.id), 'the dump holds the client')
  for (const secret of [unused, code, access_token, refresh_token!, client.secret]) {
    assert.ok(!dump.includes(secret))
    assert.ok(!dump.includes(Buffer.from(secret).toString('hex')))
  }
})

// K1
test('no code, token or client secret is written to the log, however much is logged', async () => {
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const node = await openSecondNode(house, openLog('trace', sink))
  const code = await holder.code(client)
  const url = `${node.baseUrl}/v1/oauth/accesstoken`
  const fields = { grant_type: 'authorization_code', code }
  const tokens = (await postForm(url, fields, basic(client))).json<TokenBody>()
  await postForm(url, fields, basic(client))
  await postForm(`${url}?code=${code}&client_secret=${client.secret}`, fields, basic(client))
  await send(`${node.baseUrl}/v1/user/profile`, {
    headers: { authorization: `Bearer ${tokens.access_token}` },
  })
  await postForm(`${node.baseUrl}/v1/oauth/revoke`, { token: tokens.refresh_token! }, basic(client))
  await node.close()
  const log = lines.join('')
  assert.ok(
    log.includes('/v1/oauth/accesstoken') && log.includes('/v1/user/profile'),
    'the requests are logged',
  )
  const encoded = basic(client).authorization!.slice('Basic '.length)
  for (const secret of [code, tokens.access_token, tokens.refresh_token!, client.secret, encoded]) {
    assert.ok(!log.includes(secret))
  }
})

// K4
test('a second use by the same client is refused and ends every token that the first use gave', async () => {
  const earlier = await holder.tokens(client)
  const code = await holder.code(client)
  const first = (await house.exchange(client, code)).json<TokenBody>()
  const refreshed = (await house.refresh(client, first.refresh_token!)).json<TokenBody>()
  assert.equal((await house.profile(first.access_token)).status, 200)
  assert.equal((await house.profile(refreshed.access_token)).status, 200)

  assertOAuthError(await house.exchange(client, code), 'invalid_grant')
  assert.equal((await house.profile(first.access_token)).status, 401)
  assert.equal((await house.profile(refreshed.access_token)).status, 401)
  assertOAuthError(await house.refresh(client, first.refresh_token!), 'invalid_grant')
  assert.equal((await house.profile(earlier.access_token)).status, 200, 'an earlier consent is not touched')
})

// K4
test('a replayed code is written to the audit log', async () => {
  const code = await holder.code(client)
  await house.exchange(client, code)
  await house.exchange(client, code)
  const [entry] = await findEntries(house.gateway.context.db, { actor: `client:${client.id}`, limit: 1 })
  assert.equal(entry?.action, 'code.replayed')
  assert.equal(entry?.environment, 'live')
  assert.equal(entry?.address, '127.0.0.1')
})

// K5
test("another client's code is refused, and stays good for the client that it was issued to", async () => {
  const { branchId } = client
  const sibling = await house.makeClient({
    partner: await getPartner(house.gateway.context.db, String(branchId)),
  })
  const stranger = await house.makeClient()
  const code = await holder.code(client)
  for (const thief of [sibling, stranger]) {
    assertOAuthError(await house.exchange(thief, code), 'invalid_grant')
    const [entry] = await findEntries(house.gateway.context.db, { actor: `client:${thief.id}`, limit: 1 })
    assert.equal(entry?.action, 'code.presented_by_other_client')
  }
  assert.equal((await house.exchange(client, code)).status, 200)
})

// K5
test('a used code in the hands of another client revokes nothing', async () => {
  const code = await holder.code(client)
  const { access_token, refresh_token } = (await house.exchange(client, code)).json<TokenBody>()
  assertOAuthError(await house.exchange(await house.makeClient(), code), 'invalid_grant')
  assert.equal((await house.profile(access_token)).status, 200)
  assert.equal((await house.refresh(client, refresh_token!)).status, 200)
})

// K6, T8
test('a failed client authentication consumes nothing: the same exchange succeeds afterwards', async () => {
  const code = await holder.code(client)
  const wrong = { ...client, secret: issueToken('clientSecret', 'live').text }
  for (let count = 0; count < 3; count++)
    assertOAuthError(await house.exchange(wrong, code), 'invalid_client')
  const { status } = await postForm(`${house.baseUrl}/v1/oauth/accesstoken`, {
    grant_type: 'authorization_code',
    code,
    client_id: client.id,
    client_secret: client.secret,
  })
  assert.equal(status, 200)
})

// K7
test('redirect_uri, when it is sent, must be the callback that the code went to', async () => {
  const right = { redirect_uri: client.callbackUrl }
  assert.equal((await house.exchange(client, await holder.code(client), right)).status, 200)
  for (const redirect_uri of [
    `${client.callbackUrl}/`,
    'https://evil.example',
    client.callbackUrl.toUpperCase(),
  ]) {
    assertOAuthError(
      await house.exchange(client, await holder.code(client), { redirect_uri }),
      'invalid_grant',
    )
  }
})

// K7
test('a code gives the scopes that the user approved, whatever the exchange asks for', async () => {
  const code = await holder.code(client, { scope: 'market' })
  const answer = await house.exchange(client, code, { scope: 'read trade' })
  assert.equal(answer.json<TokenBody>().scope, 'market')
  assert.equal((await house.profile(answer.json<TokenBody>().access_token)).status, 403)
})

// K7
test('a code gives the accounts that the user chose', async () => {
  const user = await house.makeUser(undefined, ['AAAA1111', 'BBBB2222', 'CCCC3333'])
  const browser = await house.signIn(user)
  const start = await browser.get(`/v1/oauth/authorize?client_id=${client.id}&scope=read&state=st`)
  const page = await browser.get((await browser.get(start.location!)).location!)
  const choose = (...account: string[]) => browser.submit(page, '/consent', { decision: 'approve', account })
  assert.equal(
    (await choose('BBBB2222', 'CCCC3333', 'ZZZZ9999')).location,
    undefined,
    'one of them is not theirs',
  )
  const { location } = await choose('BBBB2222', 'CCCC3333')
  const { access_token } = (
    await house.exchange(client, new URL(location!).searchParams.get('code')!)
  ).json<TokenBody>()
  const { profile } = (await house.profile(access_token)).json<{
    profile: { accounts: { account_number: string }[] }
  }>()
  assert.deepEqual(
    profile.accounts.map((account) => account.account_number),
    ['BBBB2222', 'CCCC3333'],
  )
})

// K8
test('with a code_challenge the right code_verifier is needed', async () => {
  const { verifier, parameters: extra } = makeProof()
  const fresh = () => holder.code(client, { extra })
  assert.equal((await house.exchange(client, await fresh(), { code_verifier: verifier })).status, 200)
  const wrong = [
    makeProof().verifier,
    extra.code_challenge,
    verifier.toUpperCase(),
    `${verifier}x`,
    '~'.repeat(128),
  ]
  for (const code_verifier of wrong) {
    assertOAuthError(await house.exchange(client, await fresh(), { code_verifier }), 'invalid_grant')
  }
  assertOAuthError(await house.exchange(client, await fresh()), 'invalid_grant')
  assertOAuthError(await house.exchange(client, await fresh(), { code_verifier: '' }), 'invalid_grant')
})

// K8
test('a code_verifier is 43 to 128 characters of its alphabet: anything else is an invalid_request and consumes nothing', async () => {
  for (const verifier of ['~'.repeat(43), '-._~'.repeat(32)]) {
    const code_challenge = hash('sha256', verifier, 'base64url')
    const extra = { code_challenge, code_challenge_method: 'S256' }
    const code = await holder.code(client, { extra })
    const odd = [
      verifier.slice(0, 42),
      `${verifier}${'~'.repeat(86)}`,
      `${verifier.slice(1)}+`,
      ` ${verifier}`,
      `${verifier}\n`,
    ]
    for (const code_verifier of [...odd, 'é'.repeat(43), 'x'.repeat(4_000)]) {
      const answer = await house.exchange(client, code, { code_verifier })
      assertOAuthError(answer, 'invalid_request')
      assert.match(String(answer.json().error_description), /^code_verifier must have 43 to 128 /)
    }
    assert.equal((await house.exchange(client, code, { code_verifier: verifier })).status, 200)
  }
})

// K8
test('a code_verifier for a code without a challenge is refused, so that nobody can take the proof away', async () => {
  const code = await holder.code(client)
  assertOAuthError(
    await house.exchange(client, code, { code_verifier: makeProof().verifier }),
    'invalid_grant',
  )
})

// K9
test('a user who takes the authorization back before the exchange is obeyed', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const code = (await house.approve(client, browser)).get('code')!
  const { status } = await browser.submit(await browser.get('/account'), '/account/revoke', {})
  assert.equal(status, 303)
  assertOAuthError(await house.exchange(client, code), 'invalid_grant')
})

// K9
test('the code of a user who was disabled is refused', async () => {
  const user = await house.makeUser()
  const code = (await house.approve(client, await house.signIn(user))).get('code')!
  await setUserStatus(house.gateway.context.db, user, 'disabled', house.act())
  assertOAuthError(await house.exchange(client, code), 'invalid_grant')
})

test('what is no code of this environment is an invalid_grant', async () => {
  const code = await holder.code(client)
  const flipped = code.slice(0, -1) + (code.endsWith('0') ? '1' : '0')
  const sandboxed = await holder.code(await house.makeClient({ environment: 'sandbox' }))
  for (const wrong of [
    'x',
    flipped,
    code.toLowerCase(),
    ` ${code}`,
    sandboxed,
    '😀',
    '%',
    'c'.repeat(4_000),
  ]) {
    assertOAuthError(await house.exchange(client, wrong), 'invalid_grant')
  }
})

// F1
test('a partner without refresh access gets no refresh token', async () => {
  const modest = await house.makeClient({ refresh: false })
  const answer = await house.exchange(modest, await holder.code(modest))
  assert.equal(answer.status, 200)
  assert.equal('refresh_token' in answer.json(), false)
})

test('an access token is dead after 24 hours although the code behind it was good', async () => {
  const { access_token } = await holder.tokens(client)
  house.clock.advance(24 * hour)
  assert.equal((await house.profile(access_token)).status, 401)
})

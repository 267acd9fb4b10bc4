/** The account holder's pages: connected applications, and tokens for their own programs (Spec 5.1). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { day, minute, second } from '../../src/clock.ts'
import { setClientStatus } from '../../src/partners/client.ts'
import { createApiToken } from '../../src/users/api-token.ts'
import { type Answer, type Browser, hiddenFields } from '../support/browser.ts'
import { openHouse, type TokenBody } from '../support/gateway.ts'
import { makeGuardedUser, readRecoveryCodes } from '../support/second-factor.ts'
import { countRows, signInWith } from '../support/web.ts'

const house = await openHouse()
const client = await house.makeClient()

async function connect(browser: Browser, scope = 'read', to = client): Promise<TokenBody> {
  const code = (await house.approve(to, browser, { scope })).get('code')!
  return (await house.exchange(to, code)).json<TokenBody>()
}

function createToken(browser: Browser, page: Answer, name: string, environment = 'live'): Promise<Answer> {
  return browser.submit(page, '/account/api/tokens', { name, environment })
}

const secretOf = (page: Answer) => /<code class="secret">([A-Za-z0-9]{53})<\/code>/.exec(page.text)?.[1]

test('an account without applications says so', async () => {
  const browser = await house.signIn(await house.makeUser())
  assert.match((await browser.get('/account')).text, /No application is connected to your account\./)
})

test('a connected application is listed with its partner, scopes, accounts, duration and last use', async () => {
  const browser = await house.signIn(await house.makeUser(undefined, ['6YA50001']))
  const { access_token } = await connect(browser, 'trade read')
  const unused = (await browser.get('/account')).text
  assert.match(unused, /<h2>Portfolio Pal <span class="faint">by Partner [a-z]+<\/span><\/h2>/)
  assert.match(unused, /See your account/)
  assert.match(unused, /<li class="money"><strong>Trade for you/)
  assert.doesNotMatch(unused, /Change account data/)
  assert.match(unused, /<dd>6YA50001<\/dd>/)
  assert.match(unused, /<dd>until you revoke it<\/dd>/)
  assert.match(unused, /<dt>Last used<\/dt><dd>never<\/dd>/)
  assert.equal((await house.profile(access_token)).status, 200)
  await house.gateway.context.lastUse.flush()
  assert.match((await browser.get('/account')).text, /<dt>Last used<\/dt><dd><time datetime="2026-/)
})

test('revoking an application ends its tokens with the very next request, and its refresh token', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const [first, second] = [await connect(browser), await connect(browser, 'read trade')]
  const code = (await house.approve(client, browser)).get('code')!
  for (const { access_token } of [first, second])
    assert.equal((await house.profile(access_token)).status, 200)

  const answer = await browser.submit(await browser.get('/account'), '/account/revoke', {})
  assert.equal(answer.status, 303)
  assert.equal(answer.location, '/account')
  for (const { access_token, refresh_token } of [first, second]) {
    assert.equal((await house.profile(access_token)).status, 401)
    assert.equal((await house.refresh(client, refresh_token!)).json().error, 'invalid_grant')
  }
  assert.equal(
    (await house.exchange(client, code)).json().error,
    'invalid_grant',
    'a code on its way is dead too',
  )
  assert.match((await browser.get('/account')).text, /No application is connected/)
  const [entry] = await findEntries(house.gateway.context.db, { actor: `user:${user.id}`, limit: 1 })
  assert.equal(entry!.action, 'authorization.revoked')
})

test('an application that was revoked can be approved again, and its old tokens stay dead', async () => {
  const browser = await house.signIn(await house.makeUser())
  const old = await connect(browser)
  await browser.submit(await browser.get('/account'), '/account/revoke', {})
  const fresh = await connect(browser)
  assert.equal((await house.profile(fresh.access_token)).status, 200)
  assert.equal((await house.profile(old.access_token)).status, 401)
})

test('revoking one application leaves the others', async () => {
  const other = await house.makeClient()
  const browser = await house.signIn(await house.makeUser())
  const kept = await connect(browser, 'read', other)
  house.clock.advance(second)
  const ended = await connect(browser)
  await browser.submit(await browser.get('/account'), '/account/revoke', {})
  assert.equal((await house.profile(ended.access_token)).status, 401)
  assert.equal((await house.profile(kept.access_token)).status, 200)
})

test("another user's authorization cannot be revoked", async () => {
  const owner = await house.signIn(await house.makeUser())
  const { access_token } = await connect(owner)
  const { authorization } = hiddenFields((await owner.get('/account')).text, '/account/revoke')
  const stranger = await house.signIn(await house.makeUser())
  const { csrf } = hiddenFields((await stranger.get('/account')).text, '/logout')
  const answer = await stranger.post('/account/revoke', { csrf: csrf!, authorization: authorization! })
  assert.equal(answer.location, '/account', 'the same answer as for one that does not exist')
  assert.equal((await house.profile(access_token)).status, 200)
  assert.match((await owner.get('/account')).text, /Portfolio Pal/)
})

test('an id that is no number is refused, and one that never was changes nothing', async () => {
  const browser = await house.signIn(await house.makeUser())
  const { csrf } = hiddenFields((await browser.get('/account')).text, '/logout')
  for (const id of ['', 'x', '-1', '1.5', '1e3', '9'.repeat(16), '1; DROP TABLE grants']) {
    const sent = { csrf: csrf!, authorization: id, token: id }
    assert.equal((await browser.post('/account/revoke', sent)).status, 400, id)
    assert.equal((await browser.post('/account/api/revoke', sent)).status, 400, id)
  }
  const sent = { csrf: csrf!, authorization: '9'.repeat(15), token: '9'.repeat(15) }
  assert.equal((await browser.post('/account/revoke', sent)).status, 303)
  assert.equal((await browser.post('/account/api/revoke', sent)).status, 303)
})

test('a suspended application says that it has no access', async () => {
  const paused = await house.makeClient()
  const browser = await house.signIn(await house.makeUser())
  await connect(browser, 'read', paused)
  await setClientStatus(house.gateway.context.db, paused, 'suspended', house.act())
  assert.match((await browser.get('/account')).text, /The brokerage has suspended this application/)
})

test('the live page shows no application of the sandbox, and the sandbox none of the live one', async () => {
  const user = await house.makeUser()
  const play = await house.makeClient({ environment: 'sandbox' })
  const [live, sandbox] = [await house.signIn(user), await house.signIn(user, 'sandbox')]
  await connect(sandbox, 'read', play)
  assert.match((await live.get('/account')).text, /No application is connected/)
  assert.match((await sandbox.get('/account')).text, /Portfolio Pal/)
  assert.match((await sandbox.get('/account')).text, /Sandbox: nothing here touches real money\./)
})

for (const environment of ['live', 'sandbox'] as const) {
  const kind = environment === 'live' ? 'Personal API token' : 'Sandbox token'
  const other = environment === 'live' ? 'sandbox' : 'live'

  test(`a ${kind.toLowerCase()} is shown once, works in its environment only, and is dead when revoked`, async () => {
    const browser = await house.signIn(await house.makeUser())
    const empty = await browser.get('/account/api')
    assert.match(empty.text, /You have no tokens\./)
    const created = await createToken(browser, empty, `for ${environment}`, environment)
    assert.equal(created.status, 200)
    assert.match(created.text, new RegExp(`${kind} created`))
    const token = secretOf(created)!
    assert.equal((await house.profile(token, environment)).status, 200)
    const astray = await house.profile(token, other)
    assert.equal(astray.status, 401)
    assert.match(
      String(astray.json().error_description),
      new RegExp(`token of the ${environment} environment`),
    )

    const listed = await browser.get('/account/api')
    assert.equal(listed.text.includes(token), false, 'shown once')
    assert.match(listed.text, new RegExp(`<strong>for ${environment}</strong>.*${kind}`))
    assert.match(listed.text, new RegExp(`ends in <code>${token.slice(-4)}</code>`))

    const answer = await browser.submit(listed, '/account/api/revoke', {})
    assert.equal(answer.location, '/account/api')
    assert.equal((await house.profile(token, environment)).status, 401)
    assert.match((await browser.get('/account/api')).text, /You have no tokens\./)
  })
}

test('the token that was made is nowhere in the database', async () => {
  const browser = await house.signIn(await house.makeUser())
  const token = secretOf(await createToken(browser, await browser.get('/account/api'), 'mine'))!
  const { db } = house.gateway.context
  assert.equal(await countRows(db, `api_tokens t WHERE t::text LIKE '%${token.slice(4, 40)}%'`), 0)
  assert.equal(await countRows(db, `audit_entries t WHERE t::text LIKE '%${token.slice(4, 40)}%'`), 0)
})

test("another user's token is not listed and cannot be revoked", async () => {
  const owner = await house.makeUser()
  const token = await house.makeToken(owner)
  const page = await (await house.signIn(owner)).get('/account/api')
  const { token: id } = hiddenFields(page.text, '/account/api/revoke')
  const stranger = await house.signIn(await house.makeUser())
  const own = await stranger.get('/account/api')
  assert.match(own.text, /You have no tokens\./)
  const { csrf } = hiddenFields(own.text, '/account/api/tokens')
  assert.equal((await stranger.post('/account/api/revoke', { csrf: csrf!, token: id! })).status, 303)
  assert.equal((await house.profile(token)).status, 200)
})

test('making a token demands a sign-in at most five minutes old', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  house.clock.advance(5 * minute)
  const page = await browser.get('/account/api')
  assert.equal((await createToken(browser, page, 'in time')).status, 200)
  house.clock.advance(second)
  const late = await createToken(browser, page, 'too late')
  assert.equal(late.status, 303)
  assert.equal(late.location, '/login?return=%2Faccount%2Fapi&confirm=1')
  const confirmed = await signInWith(browser, user.username, { path: late.location! })
  assert.equal(confirmed.location, '/account/api')
  const fresh = await browser.get('/account/api')
  assert.match(fresh.text, /value="too late"/, 'what was typed is there again')
  assert.doesNotMatch(fresh.text, /<strong>too late/, 'and nothing was made of it')
  assert.equal((await createToken(browser, fresh, 'again')).status, 200)
})

test('a name must have 1 to 100 characters, and what was typed is kept on the page', async () => {
  const browser = await house.signIn(await house.makeUser())
  const page = await browser.get('/account/api')
  for (const name of ['', '   ', 'x'.repeat(101)]) {
    const answer = await createToken(browser, page, name)
    assert.equal(answer.status, 400)
    assert.match(
      answer.text,
      name.length > 100 ? /It must have at most 100 characters/ : /It must have 1 to 100 characters/,
    )
    assert.ok(answer.text.includes(`name="name" value="${name}"`))
    assert.equal(secretOf(answer), undefined)
  }
  assert.equal((await createToken(browser, page, 'x'.repeat(100))).status, 200)
})

test('no bytes in the name of a token break the page', async () => {
  const browser = await house.signIn(await house.makeUser())
  for (const name of ['a\0b', '\u{1f600}', '\ud83d', "'; --", '\u202eback']) {
    const { status } = await createToken(browser, await browser.get('/account/api'), name)
    assert.ok(status === 200 || status === 400, `${JSON.stringify(name)}: ${status}`)
  }
})

test('an environment that does not exist has no tokens', async () => {
  const browser = await house.signIn(await house.makeUser())
  const page = await browser.get('/account/api')
  for (const environment of ['', 'Live', 'production']) {
    assert.equal((await createToken(browser, page, 'mine', environment)).status, 400)
  }
})

test('who holds as many tokens as there may be is told so, and offered no other', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const page = async () => (await browser.get('/account/api')).text
  const { db } = house.gateway.context
  const make = (name: string) => createApiToken(db, user, { environment: 'sandbox', name }, house.act())
  for (let n = 1; n < 50; n++) await make(`Program ${n}`)
  assert.match(await page(), /action="\/account\/api\/tokens"/)
  await make('Program 50')
  assert.doesNotMatch(await page(), /action="\/account\/api\/tokens"/)
  assert.match(
    await page(),
    /You have 50 tokens, as many as there may be\. Revoke one that you no longer need\./,
  )
  const revoked = await browser.submit(await browser.get('/account/api'), '/account/api/revoke', {})
  assert.equal(revoked.status, 303)
  assert.match(await page(), /action="\/account\/api\/tokens"/)
})

test('a user holds 50 tokens at most, however many are asked for at once', async () => {
  const user = await house.makeUser()
  const { db } = house.gateway.context
  for (let made = 0; made < 49; made++) {
    await createApiToken(db, user, { environment: 'live', name: `token ${made}` }, house.act())
  }
  const browser = await house.signIn(user)
  const pages = await Promise.all(Array.from({ length: 10 }, () => browser.get('/account/api')))
  const answers = await Promise.all(pages.map((page) => createToken(browser, page, 'one more')))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 409)])
})

test('a token of fewer scopes may do those alone, ends when it was said to, and says both', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const page = await browser.get('/account/api')
  const fields = { name: 'narrow', environment: 'live', only: ['market', 'write'], days: '7' }
  const created = await browser.submit(page, '/account/api/tokens', fields)
  assert.match(
    created.text,
    /It may: Change account data \(write\), Use market data \(market\)\. It ends <time/,
  )
  assert.doesNotMatch(created.text, /Try it on the command line/, 'the example needs to read')
  const refused = await house.profile(secretOf(created)!)
  assert.equal(refused.status, 403)
  assert.equal(refused.json().error, 'insufficient_scope')

  const reading = { ...fields, name: 'reading', only: ['read'] }
  const made = await browser.submit(await browser.get('/account/api'), '/account/api/tokens', reading)
  const token = secretOf(made)!
  assert.match(
    made.text,
    new RegExp(`curl -H &quot;Authorization: Bearer ${token}&quot; ${house.baseUrl}/v1/user/profile`),
  )
  assert.equal((await house.profile(token)).status, 200)
  house.clock.advance(7 * day)
  assert.equal((await house.profile(token)).status, 401, 'on the node that remembers it too')
  const later = await (await house.signIn(user)).get('/account/api')
  assert.equal([...later.text.matchAll(/badge off">ended</g)].length, 2)
  house.clock.advance(-7 * day)
})

test('what is no scope, or no end, makes no token', async () => {
  const browser = await house.signIn(await house.makeUser())
  const page = await browser.get('/account/api')
  const fields = { name: 'x', environment: 'live' }
  for (const days of ['0', '-1', '1e9', 'never'])
    assert.equal((await browser.submit(page, '/account/api/tokens', { ...fields, days })).status, 400, days)
  const all = await browser.submit(page, '/account/api/tokens', { ...fields, only: ['everything', ''] })
  assert.match(all.text, /It may: everything that you may\. It ends when you revoke it\./)
})

test('recovery codes can be copied, printed, and downloaded as the file that the page holds', async () => {
  const { browser } = await makeGuardedUser(house)
  const made = await browser.submit(await browser.get('/account/security'), '/account/security/recovery', {})
  const [, href] = /download="recovery-codes\.txt"\s+href="(data:text\/plain[^"]*)"/.exec(made.text) ?? []
  const file = decodeURIComponent(href!.split(',')[1]!)
  const codes = readRecoveryCodes(made)
  assert.equal(codes.length, 10)
  for (const code of codes) assert.ok(file.includes(`\n${code}\n`))
  assert.match(file, /^Recovery codes of \S+ for Countersign, 127\.0\.0\.1/)
  assert.match(made.text, /data-print/)
})

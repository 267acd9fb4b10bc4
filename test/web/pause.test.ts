/**
 * Pausing an application: its tokens are refused at once on every node, nothing of them is lost, and both
 * sides are told.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { day } from '../../src/clock.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { ask } from '../support/ask.ts'
import { type Answer, type Browser, hiddenFields, postForm, send } from '../support/browser.ts'
import { happened } from '../support/by-hand.ts'
import { basic, openHouse, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { hears, openSecondNode } from '../support/oauth.ts'
import { openConsent } from '../support/web.ts'

const house = await openHouse()
const other = await keepOpen(openSecondNode(house))
const client = await house.makeClient()

async function connect(browser: Browser, scope = 'read', to = client): Promise<TokenBody> {
  const code = (await house.approve(to, browser, { scope })).get('code')!
  return (await house.exchange(to, code)).json<TokenBody>()
}

async function press(browser: Browser, act: 'pause' | 'resume' | 'revoke'): Promise<Answer> {
  return browser.submit(await browser.get('/account'), `/account/${act}`, {})
}

function profileAt(url: string, token: string): Promise<Answer> {
  return send(`${url}/v1/user/profile`, { headers: { authorization: `Bearer ${token}` } })
}

const authorizationOf = async (browser: Browser, act: string) =>
  Number(hiddenFields((await browser.get('/account')).text, `/account/${act}`).authorization)

test('a paused application is refused with the very next request on every node, and works again when resumed', async () => {
  const browser = await house.signIn(await house.makeUser())
  const { access_token } = await connect(browser)
  for (const url of [house.baseUrl, other.baseUrl])
    assert.equal((await profileAt(url, access_token)).status, 200)
  const heard = hears(other, `authorization:${await authorizationOf(browser, 'pause')}`)
  assert.equal((await press(browser, 'pause')).location, '/account')
  await heard
  for (const url of [house.baseUrl, other.baseUrl]) {
    const refused = await profileAt(url, access_token)
    assert.equal(refused.status, 401)
    assert.equal(refused.json().error, 'invalid_token')
    assert.match(String(refused.json().error_description), /The user has paused this application/)
    assert.match(
      String(refused.headers['www-authenticate']),
      /error="invalid_token", error_description="The user has/,
    )
  }
  assert.match((await browser.get('/account')).text, /Paused since <time/)
  await press(browser, 'resume')
  for (const url of [house.baseUrl, other.baseUrl])
    assert.equal((await profileAt(url, access_token)).status, 200)
  assert.doesNotMatch((await browser.get('/account')).text, /Paused since/)
})

for (const rotate of [false, true]) {
  test(`refresh is refused while paused and nothing is lost by trying, ${rotate ? 'with' : 'without'} rotation`, async () => {
    const renewing = await house.makeClient({ rotate })
    const browser = await house.signIn(await house.makeUser())
    const { refresh_token } = await connect(browser, 'read', renewing)
    await press(browser, 'pause')
    for (let time = 0; time < 3; time++) {
      const refused = await house.refresh(renewing, refresh_token!)
      assert.equal(refused.status, 400)
      assert.equal(refused.json().error, 'invalid_grant')
      assert.match(String(refused.json().error_description), /The user has paused this application/)
    }
    await press(browser, 'resume')
    const again = await house.refresh(renewing, refresh_token!)
    assert.equal(again.status, 200, again.text)
    assert.equal((await house.profile(again.json<TokenBody>().access_token)).status, 200)
  })
}

test('with rotation a repeat inside the window is refused while paused, and a stolen token still ends the family', async () => {
  const renewing = await house.makeClient({ rotate: true })
  const browser = await house.signIn(await house.makeUser())
  const { refresh_token } = await connect(browser, 'read', renewing)
  await house.refresh(renewing, refresh_token!)
  await press(browser, 'pause')
  const repeated = await house.refresh(renewing, refresh_token!)
  assert.match(String(repeated.json().error_description), /paused/)
  house.clock.advance(31_000)
  const reused = await house.refresh(renewing, refresh_token!)
  assert.match(String(reused.json().error_description), /replaced by a newer one/)
})

test('a code on its way is refused while paused and is good afterwards', async () => {
  const browser = await house.signIn(await house.makeUser())
  const code = (await house.approve(client, browser)).get('code')!
  await press(browser, 'pause')
  const refused = await house.exchange(client, code)
  assert.equal(refused.json().error, 'invalid_grant')
  assert.match(String(refused.json().error_description), /paused/)
  await press(browser, 'resume')
  assert.equal((await house.exchange(client, code)).status, 200)
})

test('introspection calls the tokens of a paused application inactive', async () => {
  const browser = await house.signIn(await house.makeUser())
  const { access_token, refresh_token } = await connect(browser)
  await press(browser, 'pause')
  for (const token of [access_token, refresh_token!]) {
    const answer = await postForm(`${house.baseUrl}/v1/oauth/introspect`, { token }, basic(client))
    assert.deepEqual(answer.json(), { active: false })
  }
})

test('pausing twice, or from an old page, changes nothing more; a revoked application can be neither paused nor resumed', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const { access_token } = await connect(browser)
  const page = await browser.get('/account')
  for (let time = 0; time < 2; time++)
    assert.equal((await browser.submit(page, '/account/pause', {})).location, '/account')
  const paused = await findEntries(house.gateway.context.db, {
    actor: `user:${user.id}`,
    action: 'authorization.paused',
  })
  assert.equal(paused.length, 1)
  await press(browser, 'revoke')
  const { csrf, authorization } = hiddenFields(page.text, '/account/pause')
  for (const act of ['pause', 'resume']) {
    await browser.post(`/account/${act}`, { csrf: csrf!, authorization: authorization! })
    assert.equal((await house.profile(access_token)).status, 401)
  }
})

test("another user's application can be neither paused nor resumed", async () => {
  const owner = await house.signIn(await house.makeUser())
  const { access_token } = await connect(owner)
  const id = String(await authorizationOf(owner, 'pause'))
  const stranger = await house.signIn(await house.makeUser())
  const { csrf } = hiddenFields((await stranger.get('/account')).text, '/logout')
  const answer = await stranger.post('/account/pause', { csrf: csrf!, authorization: id })
  assert.equal(answer.location, '/account', 'the same answer as for one that does not exist')
  assert.equal((await house.profile(access_token)).status, 200)
  await press(owner, 'pause')
  await stranger.post('/account/resume', { csrf: csrf!, authorization: id })
  assert.equal((await house.profile(access_token)).status, 401)
})

test('approving a paused application says that it resumes it, and does', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const { access_token } = await connect(browser)
  await press(browser, 'pause')
  const page = await openConsent(browser, client)
  assert.match(
    page.text,
    /You have paused this application\. Allowing it resumes its access, with what is chosen here\./,
  )
  await browser.submit(page, '/consent', { decision: 'deny' })
  assert.equal((await house.profile(access_token)).status, 401, 'a denial resumes nothing')
  await connect(browser)
  assert.equal((await house.profile(access_token)).status, 200)
  const [entry] = await findEntries(house.gateway.context.db, {
    actor: `user:${user.id}`,
    action: 'authorization.resumed',
  })
  assert.equal(entry?.subject, `client:${client.id}`)
  assert.doesNotMatch((await openConsent(browser, client)).text, /You have paused/)
})

const selectEvents = `SELECT body FROM ${happened} WHERE entity = 'authorization:' || $1 ORDER BY place`

test('the partner is told of a pause and its end as of other changes', async () => {
  const browser = await house.signIn(await house.makeUser())
  await connect(browser)
  const id = await authorizationOf(browser, 'pause')
  await press(browser, 'pause')
  await press(browser, 'resume')
  const events = await ask<{ body: string }>(house.gateway.context.db, selectEvents, [id])
  const told = events.map(({ body }) => JSON.parse(body)).map(({ action, paused }) => [action, paused])
  assert.deepEqual(told, [
    ['GRANTED', false],
    ['CHANGED', true],
    ['CHANGED', false],
  ])
})

test('what each scope was used for in the last 30 days is shown beside it', async () => {
  const browser = await house.signIn(await house.makeUser())
  const { access_token } = await connect(browser, 'read trade')
  const { activity } = house.gateway.context
  for (let time = 0; time < 3; time++) await house.profile(access_token)
  await activity.flush()
  await profileAt(other.baseUrl, access_token)
  await other.context.activity.flush()
  const page = (await browser.get('/account')).text
  assert.match(
    page,
    /See your account<\/strong>[\s\S]*?Used 4 times in the last 30 days, the last time on <time/,
  )
  assert.match(page, /Trade for you<\/strong>[\s\S]*?Not used in the last 30 days/)
  house.clock.advance(31 * day)
  const { activity: removed } = await removeDead(house.gateway.context)
  assert.ok(removed >= 1)
})

test('a request that lacks the scope is no use of it, and personal tokens are nobody else’s activity', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const { access_token } = await connect(browser, 'trade')
  assert.equal((await house.profile(access_token)).status, 403)
  await house.profile(await house.makeToken(user))
  await house.gateway.context.activity.flush()
  assert.doesNotMatch((await browser.get('/account')).text, /Used (once|\d)/)
})

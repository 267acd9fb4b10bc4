/**
 * The identity provider is away, also when a node starts: nobody who is signed in notices, and no token, no
 * refresh and no page needs it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { Browser } from '../support/browser.ts'
import { openTestGateway, type TokenBody } from '../support/gateway.ts'
import { makeCustomer, openUpstream, registerUpstream, signInThere } from '../support/upstream.ts'
import { isSignedIn, pathOf } from '../support/web.ts'

test('a node starts without the provider, and everything but signing in goes on until it is back', async () => {
  const house = await openTestGateway({ HOLDER_SIGN_IN: 'provider' })
  const upstream = await openUpstream(house, { name: 'bank', people: { ada: { customer_id: 'C-1' } } })
  try {
    await registerUpstream(house, upstream, 'bank')
    const ada = await makeCustomer(house, 'C-1')
    const token = await house.makeToken(ada)
    const client = await house.makeClient()
    const browser = new Browser(house.baseUrl)
    await signInThere(browser, upstream, 'ada')
    const code = (await house.approve(client, browser)).get('code')!
    const first = (await house.exchange(client, code)).json<TokenBody>()
    await upstream.leave()
    house.clock.advance(2 * minute)
    const other = await openTestGateway(house.settings)
    try {
      other.clock.advance(2 * minute)
      assert.equal(
        (await new Browser(other.baseUrl).get('/login')).status,
        503,
        'the new node says who is away',
      )
      assert.equal((await other.profile(token)).status, 200, 'and serves tokens')
    } finally {
      await other.close()
    }
    assert.equal(await isSignedIn(browser), true)
    assert.equal((await house.refresh(client, first.refresh_token!)).status, 200)
    const page = await browser.get('/account')
    assert.match(page.text, /Portfolio Pal/)
    const away = await new Browser(house.baseUrl).get('/login?return=%2Faccount')
    assert.equal(away.status, 503)
    assert.equal(away.headers['retry-after'], '30')
    assert.match(away.text, /Example Bank ID is not available/)
    await upstream.return()
    house.clock.advance(minute)
    await upstream.keepTime()
    const back = new Browser(house.baseUrl)
    const answer = await signInThere(back, upstream, 'ada', { path: '/login?return=%2Faccount' })
    assert.equal(pathOf(answer), '/account')
  } finally {
    await upstream.close()
    await house.close()
  }
})

/** `DEMO_IDP=true`: the demo's own identity provider, registered with the gateway that it runs beside. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Demo } from '../../src/demo/demo.ts'
import { openDemoIdp } from '../../src/demo/demo-idp.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { isSignedIn } from '../support/web.ts'

const house = await openHouse({ ROLES: 'api' })
// The provider runs here, on the time of this machine.
house.clock.advance(Date.now() - house.clock.now().getTime())
const { username } = await house.makeUser('alice')

/** As the page of the provider is filled in. */
async function signInAs(who: string): Promise<{ browser: Browser; status: number; text: string }> {
  const browser = new Browser(house.baseUrl)
  const there = new Browser('http://127.0.0.1')
  const offered = /href="(\/login\/with\/demo[^"]*)"/.exec((await browser.get('/login')).text)![1]!
  const start = await browser.get(offered.replaceAll('&amp;', '&'))
  const { origin } = new URL(start.location!)
  const login = new URL((await there.get(start.location!)).location!, origin).href
  assert.match((await there.get(login)).text, /Demo identity provider/)
  const resumed = await there.post(login, { who })
  const back = await there.get(new URL(resumed.location!, origin).href)
  const { status, text } = await browser.get(back.location!)
  return { browser, status, text }
}

test('the holder of the demo signs in at the demo’s provider, before and after it is started anew; a stranger is told that they are none', async () => {
  for (let times = 0; times < 2; times++) {
    const provider = await openDemoIdp({ ...house, context: house.gateway.context }, { username } as Demo)
    assert.match(provider.told, /Demo Bank ID/)
    const { browser, status, text } = await signInAs(username)
    assert.equal(status, 303, text)
    assert.equal(await isSignedIn(browser), true)
    assert.match((await signInAs('stranger')).text, /We do not know you yet/)
    await provider.close()
  }
})

/**
 * What an application says of itself: given by its partner, looked at by an operator, and only then shown to
 * account holders.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../../src/audit/audit.ts'
import { day } from '../../../src/clock.ts'
import { removeDead } from '../../../src/gateway/housekeeping.ts'
import { findLooks } from '../../../src/partners/client-look.ts'
import { assertAnswered } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { drawPng, svgLogo } from '../../support/brand.ts'
import { hiddenFields, send } from '../../support/browser.ts'
import { openConsole } from '../../support/console.ts'
import { openHouse } from '../../support/gateway.ts'
import { openPartner } from '../../support/portal.ts'
import { openConsent } from '../../support/web.ts'

const house = await openHouse()
const { db } = house.gateway.context
const admin = await openConsole(house)
const holder = await house.signIn(await house.makeUser())

const words = {
  purpose: 'Shows your holdings beside those at other brokers.',
  website: 'https://www.quant.example/',
  privacyUrl: 'https://www.quant.example/privacy',
  termsUrl: '',
}

async function openOwn() {
  const own = await openPartner(house)
  const here = `${own.home}/clients/${own.client.id}/look`
  const give = async (more: Record<string, string> = {}, logo?: Buffer) => {
    const fields = { ...hiddenFields((await own.browser.get(here)).text, `${here}/save`), ...words, ...more }
    return own.browser.upload(`${here}/save`, fields, logo ? { logo } : {})
  }
  const inConsole = `/console/partners/${own.partner.branchId}/clients/${own.client.id}/look`
  const decide = async (verb: string, reason = 'It is somebody else’s mark.') => {
    const page = await admin.browser.get(inConsole)
    return admin.browser.post(inConsole + verb, { ...hiddenFields(page.text, inConsole + verb), reason })
  }
  const consent = async () => (await openConsent(holder, own.client)).text
  return { ...own, here, give, decide, inConsole, consent }
}

const imageOf = (text: string) => /<img class="look-logo" src="([^"]+)"/.exec(text)?.[1]

test('what a partner gives is shown at consent once an operator has accepted it, and a change waits while the old one shows', async () => {
  const { browser, here, give, decide, inConsole, consent, client } = await openOwn()
  await assertAnswered(browser, await give({}, drawPng(64, 64)))
  assert.doesNotMatch(await consent(), /other brokers|quant\.example|look-logo/)
  assert.match((await admin.browser.get('/console')).text, /Consent page[\s\S]*Shows your holdings beside/)
  const page = await admin.browser.get(inConsole)
  assert.match(page.text, /<dd>https:\/\/www\.quant\.example\/privacy<\/dd>/, 'whole addresses')
  await assertAnswered(admin.browser, await decide('/accept'))
  const shown = await consent()
  assert.match(shown, /What it says it is for: “Shows your holdings beside those at other brokers\.”/)
  assert.match(
    shown,
    /<a href="https:\/\/www\.quant\.example\/" target="_blank" rel="noopener noreferrer nofollow">www\.quant\.example<\/a>/,
  )
  assert.doesNotMatch(shown, /Its terms/)
  const logo = await send(house.baseUrl + imageOf(shown)!)
  assert.deepEqual([logo.status, logo.headers['content-type']], [200, 'image/png'])
  await give({ purpose: 'Trades for you.' })
  assert.match(await consent(), /other brokers/)
  const waits = await browser.get(here)
  assert.match(waits.text, /waits for the brokerage/)
  assert.equal(
    (await findLooks(db, client.id)).pending!.logo!.hash,
    (await findLooks(db, client.id)).shown!.logo!.hash,
    'the logo stays',
  )
  await decide('/decline')
  assert.match(await consent(), /other brokers/)
  assert.match((await browser.get(here)).text, /declined what you sent .*It is somebody else’s mark\./)
  await give({ purpose: 'Trades for you.' })
  await decide('/accept')
  assert.match(await consent(), /Trades for you\./)
  const actions = (await findEntries(db, { subject: `client:${client.id}` })).map(({ action }) => action)
  assert.deepEqual(
    actions.filter((action) => action.startsWith('client.look')),
    ['accepted', 'given', 'declined', 'given', 'accepted', 'given'].map((word) => `client.look_${word}`),
  )
})

test('a logo that waits is seen by its partner and by operators, and by nobody else', async () => {
  const { browser, here, give, inConsole } = await openOwn()
  await give({}, svgLogo('#123456'))
  for (const [who, at] of [
    [browser, here],
    [admin.browser, inConsole],
  ] as const) {
    const src = imageOf((await who.get(at)).text)!
    assert.ok(src.startsWith(`${at}/logo?version=`), src)
    const logo = await who.get(src)
    assert.deepEqual([logo.status, logo.headers['content-type']], [200, 'image/svg+xml'])
    assert.equal(
      logo.headers['content-security-policy'],
      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    )
    assert.equal(logo.headers['cache-control'], 'no-store')
    assert.equal((await holder.get(src)).status, 404)
  }
  const images = await ask<{ hash: string }>(db, `SELECT hash FROM images WHERE type = 'image/svg+xml'`)
  for (const { hash } of images)
    assert.equal((await send(`${house.baseUrl}/assets/images/${hash}.svg`)).status, 404)
})

test('an operator accepts what they have seen, and nothing that came after', async () => {
  const { give, inConsole, consent } = await openOwn()
  await give()
  const page = await admin.browser.get(inConsole)
  await give({ purpose: 'Your broker recommends us.' })
  const fields = hiddenFields(page.text, `${inConsole}/accept`)
  const refused = await admin.browser.post(`${inConsole}/accept`, fields)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /has changed it, or somebody has decided/)
  assert.doesNotMatch(await consent(), /recommends us|other brokers/)
})

test('what is given anew as it is shown waits for nobody', async () => {
  const { give, decide, client } = await openOwn()
  await give()
  await decide('/accept')
  await give({ purpose: 'Another.' })
  await give()
  const { pending, shown } = await findLooks(db, client.id)
  assert.deepEqual([pending, shown!.purpose], [undefined, words.purpose])
})

test('an attack in a logo, a link or a sentence is refused in words, and nothing waits', async () => {
  const { give, client, browser, here } = await openOwn()
  const attacks: [Record<string, string>, Buffer | undefined, RegExp][] = [
    [
      {},
      Buffer.from('<svg viewBox="0 0 1 1"><script/></svg>'),
      /id="logo-problem">It is neither a PNG nor an SVG/,
    ],
    [{ website: 'javascript:alert(1)' }, undefined, /id="website-problem">It must be an address/],
    [{ privacyUrl: 'http://www.quant.example' }, undefined, /id="privacyUrl-problem">It must be an address/],
    [{ termsUrl: 'https://a:b@quant.example' }, undefined, /id="termsUrl-problem">It must be an address/],
    [{ purpose: 'x'.repeat(201) }, undefined, /id="purpose-problem">It must have at most 200 characters/],
    [{ purpose: 'safe\u202e' }, undefined, /id="purpose-problem">It must not contain/],
  ]
  for (const [more, logo, problem] of attacks) {
    const refused = await give(more, logo)
    assert.equal(refused.status, 400)
    assert.match(refused.text, problem)
  }
  assert.equal((await findLooks(db, client.id)).pending, undefined)
  await give({ purpose: '<script>alert(1)</script>' })
  assert.match((await browser.get(here)).text, /&lt;script&gt;alert/)
})

test('what was accepted can be withdrawn, and its logo is served no longer', async () => {
  const { give, decide, consent } = await openOwn()
  await give({}, drawPng(24, 24, [9, 9, 9]))
  await decide('/accept')
  const src = imageOf(await consent())!
  assert.equal((await send(house.baseUrl + src)).status, 200)
  await decide('/withdraw')
  assert.doesNotMatch(await consent(), /other brokers|look-logo/)
  assert.equal((await send(house.baseUrl + src)).status, 404)
  // Last: sessions end with it.
  house.clock.advance(day)
  await removeDead(house.gateway.context)
  const left = await ask<{ hash: string }>(db, 'SELECT hash FROM images')
  assert.ok(!left.some(({ hash }) => src.includes(hash)))
})

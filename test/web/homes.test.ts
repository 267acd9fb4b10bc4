/**
 * Where each role begins, and how the frame leads from one site and from one partner to the other without
 * losing the page.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMember } from '../../src/partners/partner.ts'
import { Browser } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { openPartner, suspend } from '../support/portal.ts'
import { sandboxLink, signInWith } from '../support/web.ts'

const house = await openHouse()
const { db } = house.gateway.context

async function landingOf(username: string, origin = house.baseUrl): Promise<string | undefined> {
  const browser = new Browser(origin)
  const { location } = await signInWith(browser, username)
  assert.equal((await browser.get('/')).location, location, 'the front door leads to the same')
  assert.equal((await browser.get('/login')).location, location)
  return location
}

test('whoever asks for nothing in particular lands at the desk that can do most', async () => {
  const own = await openPartner(house)
  const holder = await house.makeUser()
  const admin = await openConsole(house)
  assert.equal(await landingOf(holder.username), '/account')
  assert.equal(await landingOf(own.user.username), own.home)
  assert.equal(await landingOf(admin.user.username), '/console')
  await addMember(db, own.partner, admin.user, house.act())
  assert.equal(await landingOf(admin.user.username), '/console')
  assert.equal(
    await landingOf(admin.user.username, house.sandboxUrl),
    own.home,
    'the console is on the live site alone',
  )
  await addMember(db, await house.makePartner(), own.user, house.act())
  assert.equal(await landingOf(own.user.username), '/partner', 'which of them is to be chosen')
  assert.equal((await new Browser(house.baseUrl).get('/')).location, '/login')
})

const linkTo = (text: string, label: string) =>
  new RegExp(`<a href="([^"]*)"[^>]*>${label}</a>`).exec(text)?.[1]

test('the switch between live and sandbox leads to the same page, or to the nearest that is there too', async () => {
  const own = await openPartner(house)
  const webhook = await own.program.register('https://receiver.example.com/hook')
  const admin = await openConsole(house)
  const expected = {
    [`${own.home}/webhooks`]: `${own.home}/webhooks`,
    [`${own.home}/webhooks/${webhook}`]: `${own.home}/webhooks`,
    [`${own.home}/webhooks/${webhook}/replay`]: `${own.home}/webhooks`,
    [`${own.home}/deliveries?state=waiting`]: `${own.home}/deliveries`,
    [`${own.home}/members`]: own.home,
    '/account/api': '/account/api',
    '/account/security': '/account',
  }
  for (const [path, there] of Object.entries(expected)) {
    const { text } = await own.browser.get(path)
    assert.match(text, /<span aria-current="true">Live<\/span>/)
    assert.equal(linkTo(text, 'Sandbox'), sandboxLink(house, there), path)
  }
  assert.equal(linkTo((await admin.browser.get('/console/users')).text, 'Sandbox'), sandboxLink(house, '/'))
  const sandbox = await house.signIn(own.user, 'sandbox')
  const { text } = await sandbox.get(`${own.home}/clients`)
  assert.equal(linkTo(text, 'Live'), `${house.baseUrl}${own.home}/clients`)
  const wrong = await own.browser.submit(await own.browser.get('/account/api'), '/account/api/tokens', {
    name: '',
  })
  assert.equal(
    linkTo(wrong.text, 'Sandbox'),
    sandboxLink(house, '/account/api'),
    'also from a page that a form leads to',
  )
})

test('a member of several partners goes from one to the other and stays on the page', async () => {
  const own = await openPartner(house)
  assert.doesNotMatch((await own.browser.get(own.home)).text, /Other partners/)
  const [other, stopped] = [await house.makePartner(), await house.makePartner()]
  for (const partner of [other, stopped]) await addMember(db, partner, own.user, house.act())
  await suspend(house, stopped, 'The terms were not kept.')
  const { text } = await own.browser.get(`${own.home}/clients`)
  assert.equal(linkTo(text, other.name), `/partner/${other.branchId}/clients`)
  assert.equal(
    linkTo(text, stopped.name),
    `/partner/${stopped.branchId}`,
    'where it says why it stands still',
  )
  assert.equal(linkTo(text, own.partner.name), undefined)
})

test('from each home links lead to the others that somebody has', async () => {
  const own = await openPartner(house)
  const admin = await openConsole(house)
  assert.equal(linkTo((await own.browser.get(own.home)).text, 'My account'), '/account')
  assert.equal(linkTo((await own.browser.get('/account')).text, 'Partner portal'), '/partner')
  assert.equal(linkTo((await admin.browser.get('/console')).text, 'My account'), '/account')
  assert.equal(linkTo((await admin.browser.get('/console')).text, 'Partner portal'), '/partner')
  assert.equal(linkTo((await admin.browser.get('/account')).text, 'Console'), '/console')
})

test('a plain customer sees one line for developers, whose addresses always work; who has a program sees them in the bar', async () => {
  const user = await house.makeUser()
  const browser = await house.signIn(user)
  const barOf = (text: string) => text.slice(0, text.indexOf('<main'))
  const page = (await browser.get('/account')).text
  for (const label of ['API settings', 'Partner portal', 'Sandbox'])
    assert.equal(linkTo(barOf(page), label), undefined, label)
  const [line] = /<details class="other"><summary>For developers[\s\S]*?<\/details>/.exec(page)!
  for (const label of ['API settings', 'Partner portal', 'Sandbox']) assert.ok(linkTo(line, label), label)
  for (const path of ['/account/api', '/partner']) {
    const { status, text } = await browser.get(path)
    assert.equal(status, 200)
    assert.equal(linkTo(barOf(text), 'Sandbox') !== undefined, true, path)
  }
  await house.makeToken(user)
  assert.equal(linkTo(barOf((await browser.get('/account')).text), 'API settings'), '/account/api')
})

/** From an owner's invitation to a member at work, in a real browser; and each page of it on a phone and at a desk, light and dark. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMember } from '../../../src/partners/partner.ts'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { readInvitation } from '../../support/members.ts'
import { openPartner } from '../../support/portal.ts'
import { desk, fine, lookAt, openScreen, phone } from '../../support/screen.ts'

const house = await openHouse({ ROLES: 'api' })
const chromium = await keepOpen(openChromium())
const narrow = { width: 320, height: 640 }
const tooWide = 'document.documentElement.scrollWidth > innerWidth'
const seriousFaults = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id))`

for (const [name, options] of Object.entries({
  'on a phone': { viewport: phone, hasTouch: true },
  'without JavaScript': { javaScriptEnabled: false },
})) {
  test(`an owner invites, somebody accepts by the link and becomes a viewer, and is made a developer, ${name}`, async () => {
    const own = await openPartner(house)
    const email = `${name.replaceAll(' ', '-')}@example.com`
    const owner = await openScreen(chromium, options)
    await owner.enter(`${house.baseUrl}${own.home}/members`, own.user)
    await owner.page.getByLabel('E-mail address').fill(email)
    await owner.page.getByLabel('Role', { exact: true }).selectOption('viewer')
    await owner.page.getByRole('button', { name: 'Send invitation' }).click()
    await owner.page.getByText('The invitation is on its way.').waitFor()
    await owner.page.getByText(email, { exact: true }).waitFor()

    const guest = await openScreen(chromium, options)
    const user = await house.makeUser()
    await guest.enter(house.baseUrl + (await readInvitation(house, email)).path, user)
    await guest.page.getByRole('heading', { name: `${own.partner.name} invites you` }).waitFor()
    await guest.page.getByText('Sees everything and changes nothing.').waitFor()
    await guest.page.getByRole('button', { name: 'Accept' }).click()
    await guest.page.getByRole('heading', { name: own.partner.name }).waitFor()
    const links = guest.page.getByRole('navigation', { name: 'Account' })
    assert.equal(await links.getByRole('link', { name: 'Test events' }).count(), 0)
    await guest.page.goto(`${house.baseUrl}${own.home}/test`)
    await guest.page.getByRole('heading', { name: 'This needs the developer role' }).waitFor()

    await owner.page.reload()
    const row = owner.page.getByRole('listitem').filter({ hasText: user.username })
    await row.getByRole('combobox').selectOption('developer')
    await row.getByRole('button', { name: 'Change role' }).click()
    await owner.page.getByText('The role is changed.').waitFor()
    await guest.page.goto(`${house.baseUrl}${own.home}`)
    await links.getByRole('link', { name: 'Test events' }).click()
    await guest.page.getByRole('heading', { name: 'Test events' }).waitFor()
    assert.deepEqual([...owner.complaints, ...guest.complaints.filter((text) => !text.includes('403'))], [])
    await owner.close()
    await guest.close()
  })
}

test('every page of it fits 320, 390 and 1280 px, can be pressed with a thumb, and axe finds no serious fault, light and dark', async () => {
  const own = await openPartner(house)
  const { db } = house.gateway.context
  const [developer, stranger] = [await house.makeUser(), await house.makeUser()]
  await addMember(db, own.partner, developer, house.act(), 'developer')
  await addMember(db, own.partner, await house.makeUser(), house.act(), 'owner')
  const emails = ['somebody.with.a.rather.long.name@a.rather.long.domain.example.com', 'short@example.com']
  for (const email of emails) {
    const members = `${own.home}/members`
    await own.browser.submit(await own.browser.get(members), `${members}/invite`, { email, role: 'viewer' })
  }
  const { path } = await readInvitation(house, emails[0]!)
  const visits = [
    { name: 'members-owner', user: own.user, path: `${own.home}/members` },
    { name: 'members-developer', user: developer, path: `${own.home}/members` },
    { name: 'role-needed', user: await viewerOf(), path: `${own.home}/test` },
    { name: 'viewer-webhooks', user: await viewerOf(), path: `${own.home}/webhooks` },
    { name: 'viewer-client', user: await viewerOf(), path: `${own.home}/clients/${own.client.id}` },
    { name: 'invitation', user: stranger, path },
    { name: 'invitation-of-member', user: developer, path },
    { name: 'invitation-gone', user: stranger, path: '/partner/invitation/gone' },
  ]
  for (const visit of visits) {
    const { page, enter, close } = await openScreen(chromium, { bypassCSP: true, reducedMotion: 'reduce' })
    await enter(house.baseUrl + visit.path, visit.user)
    await page.getByRole('heading', { level: 1 }).waitFor()
    assert.deepEqual(await lookAt(page, visit.name), fine, visit.name)
    for (const viewport of [narrow, desk])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        const where = `${visit.name}-${viewport.width}-${colorScheme}`
        assert.equal(await page.evaluate(tooWide), false, where)
        assert.deepEqual(await page.evaluate(seriousFaults), [], where)
        if (process.env.SCREENSHOTS)
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/${where}.png`, fullPage: true })
      }
    await close()
  }

  async function viewerOf() {
    const user = await house.makeUser()
    await addMember(db, own.partner, user, house.act(), 'viewer')
    return user
  }
})

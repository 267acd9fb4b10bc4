/** From an owner's invitation to a member at work, in a real browser, on a phone and without JavaScript. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openChromium } from '../../support/chromium.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { readInvitation } from '../../support/members.ts'
import { openPartner } from '../../support/portal.ts'
import { openBar, openScreen, phone } from '../../support/screen.ts'

const house = await openHouse({ ROLES: 'api' })
const chromium = await keepOpen(openChromium())

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
    await openBar(guest.page)
    await links.getByRole('link', { name: 'Overview' }).waitFor()
    assert.equal(await links.getByRole('link', { name: 'Test events' }).count(), 0)
    await guest.page.goto(`${house.baseUrl}${own.home}/test`)
    await guest.page.getByRole('heading', { name: 'This needs the developer role' }).waitFor()

    await owner.page.reload()
    const row = owner.page.getByRole('listitem').filter({ hasText: user.username })
    await row.getByRole('combobox').selectOption('developer')
    await row.getByRole('button', { name: 'Change role' }).click()
    await owner.page.getByText('The role is changed.').waitFor()
    await guest.page.goto(`${house.baseUrl}${own.home}`)
    await openBar(guest.page)
    await links.getByRole('link', { name: 'Test events' }).click()
    await guest.page.getByRole('heading', { name: 'Test events' }).waitFor()
    assert.deepEqual([...owner.complaints, ...guest.complaints.filter((text) => !text.includes('403'))], [])
    await owner.close()
    await guest.close()
  })
}

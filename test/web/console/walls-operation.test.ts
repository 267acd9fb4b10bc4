/** Roles are walls: every page and every form of the console's operation side, tried by everybody. The tables name them all. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { operationRoutes } from '../../../src/web/console/operation-routes.ts'
import { getLane } from '../../../src/webhooks/lane-health.ts'
import { setWebhookState } from '../../../src/webhooks/webhook.ts'
import { Browser, type Fields, hiddenFields } from '../../support/browser.ts'
import { openTestGateway, operator, type TestGateway } from '../../support/gateway.ts'
import { openOperator } from '../../support/operation.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'
import { assertGuarded, readTables } from '../../support/web.ts'

let house: TestGateway
let olga: Browser
let holder: Browser
let partner: PartnerHouse
let webhookId: number
before(async () => {
  house = await openTestGateway()
  partner = await openPartner(house)
  webhookId = await partner.program.register('http://127.0.0.1:9/hooks')
  olga = (await openOperator(house)).browser
  holder = await house.signIn(await house.makeUser())
  await house.gateway.context.lastUse.flush()
})
after(() => house?.close())

/** Each page, with what is asked of it: a sign-in leads back to all of that. */
const pages: Record<string, string> = {
  '/console': '/console?period=day',
  '/console/webhooks': '/console/webhooks?condition=healthy&page=1',
  '/console/webhooks/:id': '/console/webhooks/:id?period=day',
  '/console/audit': '/console/audit?action=webhook&subject=webhook%3A1',
  '/console/audit/export': '/console/audit/export?format=csv&action=webhook',
  '/console/audit/chain': '/console/audit/chain',
  '/console/settings': '/console/settings',
}

/** What does not answer with a page. */
const files = ['/console/audit/export']

interface Form {
  /** Where the form is, and where a sign-in leads back to. */
  readonly heldBy: string
  readonly fields: Fields
  /** Brings about that the form would do something. */
  readonly prepare?: () => Promise<unknown>
}

const setState = async (state: 'active' | 'paused') => {
  const { db, clock } = house.gateway.context
  await setWebhookState(db, await getLane(db, webhookId, clock.now()), state, operator, clock.now())
}

const forms: Record<string, Form> = {
  '/console/webhooks/:id/pause': { heldBy: '/console/webhooks/:id', fields: {} },
  '/console/webhooks/:id/resume': {
    heldBy: '/console/webhooks/:id',
    fields: {},
    prepare: () => setState('paused'),
  },
  '/console/audit/chain/verify': { heldBy: '/console/audit/chain', fields: { anchor: '' } },
}

const addressOf = (path: string) => path.replace(':id', String(webhookId))
const pathsOf = (method: string) => operationRoutes.filter((route) => route.method === method).map(({ path }) => path)

test('every page and every form is in these tables', () => {
  assert.deepEqual(Object.keys(pages).sort(), pathsOf('GET').sort())
  assert.deepEqual(Object.keys(forms).sort(), pathsOf('POST').sort())
  assert.equal(operationRoutes.length, Object.keys(pages).length + Object.keys(forms).length)
})

for (const [path, asked] of Object.entries(pages)) {
  test(`GET ${path} is for operators, and a sign-in leads back to it`, async () => {
    const address = addressOf(asked)
    const anonymous = await new Browser(house.baseUrl).get(address)
    assert.equal(anonymous.status, 303)
    assert.equal(anonymous.location, `/login?return=${encodeURIComponent(address)}`)
    const login = await new Browser(house.baseUrl).get(anonymous.location!)
    assert.equal(hiddenFields(login.text, '/login').return?.replaceAll('&amp;', '&'), address)
    for (const browser of [holder, partner.browser]) {
      const refused = await browser.get(address)
      assert.equal(refused.status, 404)
      assert.doesNotMatch(refused.text, /webhook/i)
    }
    const page = await olga.get(address)
    assert.equal(page.status, 200, page.text)
    if (files.includes(path)) assert.match(String(page.headers['content-disposition']), /^attachment;/)
    else assertGuarded(page, address)
    const csrf = await tokenOf(olga)
    assert.equal((await olga.post(address.split('?')[0]!, { csrf })).status, 405, 'a page is no form')
  })
}

const tokenOf = async (browser: Browser) => hiddenFields((await browser.get('/account')).text, '/logout').csrf!

for (const [path, { heldBy, fields, prepare }] of Object.entries(forms)) {
  test(`POST ${path} does nothing for anybody but an operator, and nothing for a form that is not ours`, async () => {
    const { db } = house.gateway.context
    const address = addressOf(path)
    await prepare?.()
    const [own, other, member] = [await tokenOf(olga), await tokenOf(holder), await tokenOf(partner.browser)]
    const before = await readTables(db)
    const anonymous = await new Browser(house.baseUrl).post(address, { ...fields, csrf: own })
    assert.equal(anonymous.status, 303)
    assert.equal(anonymous.location, `/login?return=${encodeURIComponent(addressOf(heldBy))}`)
    const attacks = [
      await olga.post(address, fields),
      await olga.post(address, { ...fields, csrf: other }),
      await olga.post(address, { ...fields, csrf: own }, { origin: 'https://evil.example' }),
      await olga.post(address, { ...fields, csrf: own }, { 'sec-fetch-site': 'cross-site' }),
    ]
    assert.deepEqual(
      attacks.map(({ status }) => status),
      [403, 403, 403, 403],
    )
    assert.equal((await olga.get(address)).status, 405, 'a GET never does what a form does')
    assert.equal((await holder.post(address, { ...fields, csrf: other })).status, 404)
    assert.equal((await partner.browser.post(address, { ...fields, csrf: member })).status, 404)
    assert.deepEqual(await readTables(db), before)
    const answer = await olga.post(address, { ...fields, csrf: own })
    assert.equal(answer.status, 303, answer.text)
    // A verification is written down when it has ended.
    await settled()
    assert.notDeepEqual(await readTables(db), before)
  })
}

async function settled(): Promise<void> {
  const { chainCheck, db } = house.gateway.context
  while (chainCheck.state().kind === 'running') await db.query({ name: '', text: 'SELECT 1' })
}

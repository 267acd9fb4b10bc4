/**
 * What a client may ask for at most is the brokerage's to say: members choose within it, ask for more, and an
 * operator decides.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../../src/audit/audit.ts'
import { minute } from '../../../src/clock.ts'
import {
  type Client,
  getClient,
  listClients,
  setScopesAtMost,
  updateClient,
} from '../../../src/partners/client.ts'
import { answerScopeRequest, askForScopes, findScopeRequest } from '../../../src/partners/scope-request.ts'
import { Invalid } from '../../../src/problem.ts'
import type { Scope } from '../../../src/vocabulary/scope.ts'
import { assertAnswered } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { type Answer, hiddenFields } from '../../support/browser.ts'
import { openConsole, press } from '../../support/console.ts'
import { openHouse, operator, type TokenBody } from '../../support/gateway.ts'
import { openHolder } from '../../support/oauth.ts'
import { openPartner, type PartnerHouse } from '../../support/portal.ts'

const house = await openHouse()

const allowed = ({ scopes, scopesAtMost }: Client) => [scopes.join(' '), scopesAtMost.join(' ')]
const read = ({ client }: PartnerHouse) => getClient(house.gateway.context.db, client.id)

/** A partner whose client may ask for these at most. */
async function openBounded(...atMost: Scope[]): Promise<PartnerHouse> {
  const partner = await openPartner(house)
  const { db } = house.gateway.context
  await setScopesAtMost(db, partner.client, atMost, house.act())
  return partner
}

const pageOf = ({ home, client }: PartnerHouse) => `${home}/clients/${client.id}`

async function change(partner: PartnerHouse, fields: Record<string, string | string[]>): Promise<Answer> {
  const page = await partner.browser.get(pageOf(partner))
  const all = { name: 'Portfolio Pal', callback: 'https://app.example.com/callback', ...fields }
  return partner.browser.submit(page, `${pageOf(partner)}/update`, all)
}

async function askForMore(
  partner: PartnerHouse,
  wider: string[],
  reason = 'Our users place orders.',
): Promise<Answer> {
  const page = await partner.browser.get(pageOf(partner))
  return partner.browser.submit(page, `${pageOf(partner)}/scopes`, { wider, reason })
}

test('a member chooses fewer scopes and all of them again, and never more than the brokerage set', async () => {
  const partner = await openBounded('read', 'market')
  assert.equal((await change(partner, { scope: 'market' })).status, 303)
  assert.deepEqual(allowed(await read(partner)), ['market', 'read market'])
  assert.equal((await change(partner, { scope: ['read', 'market'] })).status, 303)
  const page = (await partner.browser.get(pageOf(partner))).text
  assert.doesNotMatch(page, /name="scope" value="trade"/, 'it is not there to choose')
  const forged = await change(partner, { scope: ['read', 'market', 'trade'] })
  assert.equal(forged.status, 400)
  assert.match(forged.text, /id="scope-problem">It may name read, market\. More has to be asked for/)
  assert.deepEqual(allowed(await read(partner)), ['read market', 'read market'])
})

test('a client that a member registers begins with read and market at most; in the sandbox with any', async () => {
  const partner = await openPartner(house)
  const sandbox = await house.signIn(partner.user, 'sandbox')
  const fields = { name: 'Wide', callback: 'https://app.example.com/cb', scope: ['read', 'trade'] }
  const register = async (browser: typeof sandbox) =>
    browser.submit(await browser.get(`${partner.home}/clients`), `${partner.home}/clients/create`, fields)
  const refused = await register(partner.browser)
  assert.equal(refused.status, 400)
  assert.match(refused.text, /It may name read, market\. More has to be asked for/)
  assert.match(refused.text, /An application begins with read and market at most/)
  assert.equal((await register(sandbox)).status, 200)
  const made = (await listClients(house.gateway.context.db, partner.partner.branchId)).filter(
    (c) => c.name === 'Wide',
  )
  assert.deepEqual(made.map(allowed), [['read trade', 'read write market trade stream']])
})

test('no writer gets past the most: the database refuses a client that may ask for more', async () => {
  const { client } = await openBounded('read')
  const widen = `UPDATE clients SET scopes = '{read,trade}' WHERE id = $1`
  await assert.rejects(ask(house.gateway.context.db, widen, [client.id]), /clients_scopes_within_most/)
})

test('a member who saves a form from before the brokerage narrowed the client is told, and widens nothing', async () => {
  const partner = await openPartner(house)
  const { db } = house.gateway.context
  const before = await read(partner)
  await setScopesAtMost(db, partner.client, ['read'], house.act())
  const acting = { ...house.act(), development: true }
  await assert.rejects(updateClient(db, before, { scope: 'read trade' }, acting), Invalid)
  const renamed = await updateClient(db, before, { name: 'Renamed' }, acting)
  assert.deepEqual([renamed.name, ...allowed(renamed)], ['Renamed', 'read', 'read'])
})

test('a member asks for more once, an operator grants it in the console, and account holders can be asked for it', async () => {
  const partner = await openBounded('read')
  const admin = await openConsole(house)
  const wrong = await askForMore(partner, ['read'], '')
  assert.equal(wrong.status, 400)
  for (const name of ['wider', 'reason']) assert.match(wrong.text, new RegExp(`id="${name}-problem"`))
  const tabs = [await partner.browser.get(pageOf(partner)), await partner.browser.get(pageOf(partner))]
  const form = `${pageOf(partner)}/scopes`
  for (const tab of tabs) {
    const fields = { wider: ['trade', 'stream'], reason: 'Our users place orders.' }
    const sent = await partner.browser.post(form, { ...hiddenFields(tab.text, form), ...fields })
    assert.equal(sent.status, 303)
  }
  assert.deepEqual(allowed(await read(partner)), ['read', 'read'], 'asking gives nothing')
  assert.match(
    (await partner.browser.get(pageOf(partner))).text,
    /Our users place orders\.”\. The brokerage has not/,
  )
  const at = `/console/partners/${partner.partner.branchId}`
  for (const address of ['/console', '/console/partners'])
    assert.match((await admin.browser.get(address)).text, new RegExp(`href="${at}"`), address)
  assert.match(
    (await admin.browser.get(at)).text,
    /Asked for <strong>trade stream<\/strong>[\s\S]*place orders/,
  )
  const granted = await press(admin.browser, at, `/clients/${partner.client.id}/scopes/grant`)
  assert.match((await assertAnswered(admin.browser, granted)).text, /The wider scopes are granted/)
  assert.deepEqual(allowed(await read(partner)), ['read trade stream', 'read trade stream'])
  assert.match((await partner.browser.get(pageOf(partner))).text, /for trade stream was granted on/)
  const holder = await openHolder(house)
  assert.equal((await holder.tokens(partner.client, { scope: 'trade' })).scope, 'trade')
  const entries = await findEntries(house.gateway.context.db, { subject: `client:${partner.client.id}` })
  const acts = entries
    .filter(({ action }) => action.startsWith('client.scopes'))
    .map(({ action, actor }) => [action, actor])
  assert.deepEqual(acts, [
    ['client.scopes_granted', `user:${admin.user.id}`],
    ['client.scopes_asked', `user:${partner.user.id}`],
    ['client.scopes_set', operator.name],
  ])
})

test('a declined request changes nothing, is shown, and may be made again', async () => {
  const partner = await openBounded('read')
  const admin = await openConsole(house)
  await askForMore(partner, ['trade'])
  const at = `/console/partners/${partner.partner.branchId}`
  const page = await admin.browser.get(at)
  const send = async (verb: string) => {
    const reason = 'Too much for now.'
    const sent = await admin.browser.submit(page, `${at}/clients/${partner.client.id}/scopes/${verb}`, {
      reason,
    })
    return (await assertAnswered(admin.browser, sent)).text
  }
  assert.match(await send('decline'), /is declined/)
  assert.match(await send('grant'), /^Nothing was done/, 'from the page of before, nothing is granted')
  assert.deepEqual(allowed(await read(partner)), ['read', 'read'])
  assert.match((await partner.browser.get(pageOf(partner))).text, /for trade was declined on/)
  assert.equal((await askForMore(partner, ['trade'])).status, 303)
})

test('of operators who grant and decline at once one decides, and whoever sets the most meanwhile waits for nobody in a circle', async () => {
  const { db } = house.gateway.context
  for (let round = 0; round < 5; round++) {
    const client = await read(await openBounded('read'))
    await askForScopes(db, client, { wider: 'trade', reason: 'orders' }, house.act())
    const { id } = (await findScopeRequest(db, client.id))!
    const answer = (granted: boolean) => answerScopeRequest(db, client, { id, granted }, house.act())
    const set = () => setScopesAtMost(db, client, ['read', 'write'], house.act())
    const [granted, declined] = await Promise.all([answer(true), answer(false), set()])
    assert.ok(!(granted && declined))
    assert.notEqual((await findScopeRequest(db, client.id))!.answeredAt, null)
  }
})

test('an operator narrows a client in the console: its tokens have what is left with the next request, and a request is answered', async () => {
  const partner = await openPartner(house)
  const admin = await openConsole(house)
  const holder = await openHolder(house)
  const { access_token } = await holder.tokens(partner.client, { scope: 'read trade' })
  assert.equal((await house.profile(access_token)).status, 200)
  const at = `/console/partners/${partner.partner.branchId}`
  const set = async (scope: string[]) => {
    const page = await admin.browser.get(at)
    return admin.browser.submit(page, `${at}/clients/${partner.client.id}/scopes`, { scope })
  }
  assert.match(
    (await assertAnswered(admin.browser, await set(['trade', 'market']))).text,
    /Allowed scopes updated/,
  )
  assert.equal((await house.profile(access_token)).status, 403)
  await askForMore(partner, ['read', 'write'])
  await set(['read', 'market', 'trade'])
  assert.equal((await house.profile(access_token)).status, 200)
  assert.match((await partner.browser.get(pageOf(partner))).text, /was granted in part \(read\) on/)
  assert.equal((await set([])).status, 400)
})

test('a member narrows a client in the portal, and tokens given before are narrower with the next request', async () => {
  const partner = await openPartner(house)
  const holder = await openHolder(house)
  const { access_token, refresh_token } = await holder.tokens(partner.client, { scope: 'read trade' })
  assert.equal((await house.profile(access_token)).status, 200)
  await change(partner, { scope: ['trade', 'market'] })
  assert.equal((await house.profile(access_token)).status, 403)
  assert.equal((await house.refresh(partner.client, refresh_token!)).json<TokenBody>().scope, 'trade')
})

test('callback, name, scopes, requests and invitations ask for a password that was entered minutes ago', async () => {
  const partner = await openBounded('read')
  house.clock.advance(6 * minute)
  const before = await read(partner)
  const confirm = (path: string) => `/login?return=${encodeURIComponent(path)}&confirm=1`
  assert.equal(
    (await change(partner, { name: 'Taken over', scope: 'read' })).location,
    confirm(pageOf(partner)),
  )
  assert.equal((await askForMore(partner, ['trade'])).location, confirm(pageOf(partner)))
  const members = `${partner.home}/members`
  const { csrf } = hiddenFields((await partner.browser.get(members)).text, `${members}/invite`)
  for (const act of ['invite', 'resend', 'uninvite', 'role', 'remove', 'leave']) {
    const fields = { csrf: csrf!, username: 'friend-of-mine', user: partner.user.id }
    assert.equal((await partner.browser.post(`${members}/${act}`, fields)).location, confirm(members), act)
  }
  assert.deepEqual(await read(partner), before)
  assert.equal(await findScopeRequest(house.gateway.context.db, partner.client.id), undefined)
})

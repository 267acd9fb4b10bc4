/**
 * Roles are walls: every page and every form of the portal, tried by everybody. The table of the site names
 * them all.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeDead } from '../../../src/gateway/housekeeping.ts'
import { setScopesAtMost } from '../../../src/partners/client.ts'
import { giveLook } from '../../../src/partners/client-look.ts'
import { inviteMember, listInvitations } from '../../../src/partners/invitation.ts'
import { addMember } from '../../../src/partners/partner.ts'
import type { Environment } from '../../../src/vocabulary/environment.ts'
import { pageRoutes } from '../../../src/web/routes.ts'
import { startReplay } from '../../../src/webhooks/deliveries/replay.ts'
import { startSkip } from '../../../src/webhooks/deliveries/skip.ts'
import { printEventId } from '../../../src/webhooks/events/event.ts'
import { getWebhook } from '../../../src/webhooks/subscriptions/webhook.ts'
import { allSent, makeAddress } from '../../support/alerts.ts'
import { assertAnswered, otherAnswers } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { check, drawPng } from '../../support/brand.ts'
import { Browser, type Fields } from '../../support/browser.ts'
import { isAtRest } from '../../support/by-hand.ts'
import { failCalls } from '../../support/calls.ts'
import { makeKey, printJwks } from '../../support/client-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { readInvitation } from '../../support/members.ts'
import { deliverOne, openPartner, type PartnerHouse, suspend } from '../../support/portal.ts'
import { openReceiver } from '../../support/receiver.ts'
import { assertGuarded, markTables, tokenOf } from '../../support/web.ts'

const things = new Map<PartnerHouse, Record<string, string>>()

const house = await openHouse()
const receiver = await keepOpen(openReceiver())
/** Whose pages are tried; who tries from elsewhere; and one that the brokerage suspended. */
const own = await furnish()
const other = await openPartner(house)
const suspended = await furnish()
/** Operators have a console; a partner's portal is not theirs. */
const visitors = {
  ...{ own: own.user, other: other.user, suspended: suspended.user },
  ...{ holder: await house.makeUser(), runner: await house.makeOperator() },
}
const browsers = { live: await signInAll('live'), sandbox: await signInAll('sandbox') }
await receiver.count('/hooks', 4)
await settle()
await suspend(house, suspended.partner, 'The terms were broken.')

async function furnish(): Promise<PartnerHouse> {
  const made = await openPartner(house)
  const { db } = house.gateway.context
  const { webhookId, deliveryId } = await deliverOne(made, receiver)
  const webhook = await getWebhook(db, { branchId: made.partner.branchId, environment: 'live' }, webhookId)
  // In this order: what is replayed came after whatever is skipped.
  const skip = await startSkip(db, webhook, 'walls', house.act())
  const replay = await startReplay(db, webhook, { from: 1 }, house.act())
  const event = await lastEvent(made)
  const words = { purpose: 'Shows your holdings.', website: null, privacyUrl: null, termsUrl: null }
  await giveLook(db, made.client, words, await check(drawPng(8, 8)), house.act())
  things.set(made, {
    id: String(webhookId),
    delivery: String(deliveryId),
    replay: String(replay.id),
    skip: String(skip.id),
    event,
    call: String((await failCalls(house, made.partner.branchId, 1)).id),
  })
  return made
}

/** What the house does by itself has been done: whatever changes now was done by a form. */
async function settle(): Promise<void> {
  const { callLog, clock, db, lastUse } = house.gateway.context
  await eventually('lanes at rest', () => isAtRest(db, clock.now()))
  await allSent(house)
  await lastUse.flush()
  await callLog.flush()
  await removeDead(house.gateway.context)
}

async function lastEvent({ partner }: PartnerHouse): Promise<string> {
  const { db } = house.gateway.context
  const text = "SELECT uid FROM log WHERE feed = feed_of($1, 'live') ORDER BY seq DESC LIMIT 1"
  const [found] = await ask<{ uid: string }>(db, text, [partner.branchId])
  return printEventId(found!.uid)
}

type Browsers = Record<keyof typeof visitors, Browser>

async function signInAll(site: Environment): Promise<Browsers> {
  const signedIn = Object.entries(visitors).map(async ([name, user]) => [
    name,
    await house.signIn(user, site),
  ])
  return Object.fromEntries(await Promise.all(signedIn)) as Browsers
}

/** On the site that has the row: the live one, or the sandbox where that alone has it. */
function siteOf(path: string): Environment {
  return portal.some((route) => route.path === path && route.sites.includes('live')) ? 'live' : 'sandbox'
}

function strangerTo(path: string): Browser {
  return new Browser(browsers[siteOf(path)].own.origin)
}

/** The address of a row of the table, in the house of somebody. */
function addressOf(path: string, of: PartnerHouse): string {
  const { id, delivery, replay, skip, event, call } = things.get(of)!
  return path
    .replace(':branch', String(of.partner.branchId))
    .replace('deliveries/:id', `deliveries/${delivery}`)
    .replace(':id', id!)
    .replace(':replay', replay!)
    .replace(':skip', skip!)
    .replace(':event', event!)
    .replace(':call', call!)
    .replace(':client', of.client.id)
}

/** What a partner is called that was declined, and applies again. */
const again = 'Walls again'

function setStatus(status: 'approved' | 'declined') {
  const text = `UPDATE partners SET status = $2, status_reason = 'walls'
    WHERE branch_id = $1 AND status <> $2`
  return ask(house.gateway.context.db, text, [own.partner.branchId, status])
}

/** Stands for the receiver's own address. */
const here = 'http://receiver'

/** What each form sends beside its token, so that it would do something for a member. */
const forms: Record<string, Fields> = {
  '/partner/apply': { name: 'Walls', website: 'https://w.example', contact: 'w@w.example', purpose: 'walls' },
  '/partner/:branch/apply': {
    name: again,
    website: 'https://w.example',
    contact: 'w@w.example',
    purpose: 'w',
  },
  '/partner/:branch/messages/send': { message: 'Walls?' },
  '/partner/:branch/alerts/add': { url: here, what: 'failing', wait: '5' },
  '/partner/:branch/alerts/confirm': { target: 'unconfirmed' },
  '/partner/:branch/alerts/code': { target: 'unconfirmed' },
  '/partner/:branch/alerts/change': { target: 'confirmed', what: 'disabled', wait: '15' },
  '/partner/:branch/alerts/test': { target: 'confirmed' },
  '/partner/:branch/alerts/remove': { target: 'confirmed' },
  '/partner/:branch/webhooks/create': { url: here, secret: 'long enough' },
  '/partner/:branch/webhooks/:id/update': { url: here, kind: 'TRANSACTION' },
  '/partner/:branch/webhooks/:id/secret': { secret: 'another secret' },
  '/partner/:branch/webhooks/:id/pause': {},
  '/partner/:branch/webhooks/:id/resume': {},
  '/partner/:branch/webhooks/:id/replay/start': { failed: 'yes' },
  '/partner/:branch/webhooks/:id/replays/:replay/cancel': {},
  '/partner/:branch/webhooks/:id/recover/start': { since: '2020-01-01T00:00' },
  '/partner/:branch/webhooks/:id/skip/start': { confirmed: 'yes' },
  '/partner/:branch/webhooks/:id/incident/probe': {},
  '/partner/:branch/proofs/check': { proof: 'x.y.z' },
  '/partner/:branch/signature/check': { headers: 'ab'.repeat(32), body: '{}' },
  '/partner/:branch/deliveries/:id/skip': {},
  '/partner/:branch/deliveries/:id/redeliver': {},
  '/partner/:branch/deliveries/again': { delivery: '1-1' },
  '/partner/:branch/test/send': {
    ...{ type: 'TRANSACTION', transactionId: '7', clearingAccount: '1', action: 'SUBMITTED', branchId: '7' },
    ...{ email: 'a@b.example', amount: '1.50', direction: 'DEPOSIT' },
  },
  '/partner/:branch/receiver/try': {},
  '/partner/:branch/webhooks/:id/delete': { confirmed: 'yes' },
  '/partner/:branch/clients/create': { name: 'New', callback: 'https://new.example/cb', scope: 'read' },
  '/partner/:branch/clients/refresh': { reason: 'long evenings' },
  '/partner/:branch/clients/:client/update': {
    name: 'Renamed',
    callback: 'https://new.example/cb',
    scope: 'read',
  },
  '/partner/:branch/clients/:client/scopes': { wider: 'trade', reason: 'orders' },
  '/partner/:branch/clients/:client/profile': { wished: '' },
  '/partner/:branch/clients/:client/rotate': { overlap: 'day' },
  '/partner/:branch/clients/:client/look/save': { purpose: 'Shows the walls.' },
  '/partner/:branch/clients/:client/revoke': { secret: '1' },
  '/partner/:branch/clients/:client/add-keys': { jwks: printJwks(makeKey()) },
  '/partner/:branch/clients/:client/remove-key': { key: '1' },
  '/partner/:branch/clients/:client/place-keys': { jwksUri: '' },
  '/partner/invitation/:token/accept': { link: 'invited' },
  '/partner/invitation/:token/decline': { link: 'invited' },
  '/partner/:branch/members/invite': { email: 'somebody@example.com', role: 'viewer' },
  '/partner/:branch/members/resend': { invitation: 'sent' },
  '/partner/:branch/members/uninvite': { invitation: 'sent' },
  '/partner/:branch/members/role': { user: 'second', role: 'viewer' },
  '/partner/:branch/members/remove': { user: 'second' },
  // Last: with it the member is gone.
  '/partner/:branch/members/leave': {},
}

/** To a partner that is somebody else's. */
async function makeLink(): Promise<string> {
  const email = `${makeUpWord()}@example.com`
  await inviteMember(house.gateway.context, await house.makePartner(), { email, role: 'owner' }, house.act())
  return (await readInvitation(house, email)).path
}

/** What in a form stands for something that has to be there first. */
async function realise(fields: Fields): Promise<Fields> {
  const { db } = house.gateway.context
  const act = house.act()
  if (fields.name === again) {
    // Of one user one application waits at a time.
    await ask(db, `UPDATE partners SET status = 'approved' WHERE status = 'applied'`)
    await setStatus('declined')
  }
  // As nothing reads it: what is taken away is the address.
  if (fields.jwksUri === '')
    await ask(db, `UPDATE clients SET jwks_uri = 'https://keys.example/jwks' WHERE id = $1`, [own.client.id])
  if (fields.url === here) return { url: receiver.url('/elsewhere') }
  if (fields.invitation === 'sent') {
    const email = `${makeUpWord()}@example.com`
    await inviteMember(house.gateway.context, own.partner, { email, role: 'developer' }, act)
    return { invitation: String((await listInvitations(db, own.partner, act.at)).at(-1)!.id) }
  }
  if (fields.target !== undefined) {
    // Of one partner there may be five.
    await ask(db, `UPDATE alert_targets SET state = 'removed', created_at = 'epoch' WHERE kind = 'address'`)
    const owner = { branchId: own.partner.branchId, environment: 'live' } as const
    return makeAddress(house, owner, fields.target === 'confirmed')
  }
  if (fields.wider !== undefined) await setScopesAtMost(db, own.client, ['read'], act)
  if (fields.user !== 'second') return {}
  const second = await house.makeUser()
  await addMember(db, own.partner, second, act)
  return { user: second.id }
}

/** But for the form of people who have no account yet (joining.test.ts). */
const portal = pageRoutes.filter(({ path, gate }) => /^\/partner\b/.test(path) && gate.who !== 'anyone')

/** Forms and pages that are for everybody who is signed in. */
const open = [
  ...['/partner', '/partner/apply', '/partner/invitation/:token'],
  ...['/partner/invitation/:token/accept', '/partner/invitation/:token/decline'],
]
const pages = portal.filter(({ method }) => method === 'GET').map(({ path }) => path)

/** Also for members of a partner that may not act: there they read why, and write. */
const ofAnyState = new Set(portal.filter(({ gate }) => gate.who === 'member').map(({ path }) => path))

const once = () => 'x'.repeat(12) + makeUpWord()

test('every form of the portal is in this table', () => {
  const posted = portal.filter(({ method }) => method === 'POST').map(({ path }) => path)
  assert.deepEqual(Object.keys(forms).sort(), posted.toSorted())
})

for (const path of pages) {
  test(`GET ${path} is for members, and returns after a sign-in`, async () => {
    const address = path.includes(':token') ? await makeLink() : addressOf(path, own)
    const { own: ofOwn, other: ofOther, suspended: ofSuspended, holder, runner } = browsers[siteOf(path)]
    const anonymous = await strangerTo(path).get(address)
    const isForStrangers = portal.some((row) => row.path === path && row.gate.who === 'visitor')
    assert.equal(anonymous.status, isForStrangers ? 200 : 303)
    if (!isForStrangers) assert.equal(anonymous.location, `/login?return=${encodeURIComponent(address)}`)
    const page = await ofOwn.get(address)
    assert.equal(page.status, path === '/partner' ? 303 : 200, page.text)
    const isFile = String(page.headers['content-disposition']).startsWith('attachment;')
    if (page.status === 200 && !isFile) assertGuarded(page, address)
    if (open.includes(path)) return
    for (const browser of [holder, runner, ofOther]) assert.equal((await browser.get(address)).status, 404)
    const stopped = await ofSuspended.get(addressOf(path, suspended))
    assert.equal(stopped.status, ofAnyState.has(path) ? 200 : 403)
    assert.match(stopped.text, /The terms were broken\./)
  })
}

for (const [path, fields] of Object.entries(forms)) {
  test(`POST ${path} does nothing for anybody but a member, and nothing for a form that is not ours`, async () => {
    const { db } = house.gateway.context
    if (path.endsWith('/leave')) await addMember(db, own.partner, await house.makeUser(), house.act())
    const address = path.includes(':token')
      ? (await makeLink()) + path.split(':token')[1]!
      : addressOf(path, own)
    const { own: ofOwn, other: ofOther, suspended: ofSuspended, holder, runner } = browsers[siteOf(path)]
    const sent = { ...fields, ...(await realise(fields)), once: once() }
    const tokens = {
      own: await tokenOf(ofOwn),
      other: await tokenOf(ofOther),
      holder: await tokenOf(holder),
      runner: await tokenOf(runner),
    }
    const late = await tokenOf(ofSuspended)
    await settle()
    const before = await markTables(db)
    const anonymous = await strangerTo(path).post(address, { ...sent, csrf: tokens.own })
    assert.equal(anonymous.status, 303)
    assert.match(anonymous.location!, /^\/login\?return=%2Fpartner/)
    const attacks = [
      await ofOwn.post(address, sent),
      await ofOwn.post(address, { ...sent, csrf: tokens.other }),
      await ofOwn.post(address, { ...sent, csrf: tokens.own }, { origin: 'https://evil.example' }),
      await ofOwn.post(address, { ...sent, csrf: tokens.own }, { 'sec-fetch-site': 'cross-site' }),
    ]
    assert.deepEqual(
      attacks.map(({ status }) => status),
      [403, 403, 403, 403],
    )
    assert.equal((await ofOwn.get(address)).status, 303, 'a GET leads to the page of the form')
    if (!open.includes(path)) {
      assert.equal((await ofOther.post(address, { ...sent, csrf: tokens.other })).status, 404)
      assert.equal((await holder.post(address, { ...sent, csrf: tokens.holder })).status, 404)
      assert.equal((await runner.post(address, { ...sent, csrf: tokens.runner })).status, 404)
      if (!ofAnyState.has(path)) {
        const stopped = await ofSuspended.post(addressOf(path, suspended), { ...sent, csrf: late })
        assert.equal(stopped.status, 403)
      }
    }
    assert.deepEqual(await markTables(db), before)
    const answer = await ofOwn.post(address, { ...sent, csrf: tokens.own })
    // Everything was delivered: there is nothing to probe with.
    assert.equal(answer.status === 303 || answer.status === 200, !path.endsWith('/probe'), answer.text)
    if (path.endsWith('/probe')) assert.match(answer.text, /Nothing is queued for this webhook\./)
    // A replay that has finished is not stopped any more, nor is a delivery skipped that has ended; a
    // signature is looked at and that is all.
    if (!/(cancel|deliveries\/:id\/skip|signature\/check|proofs\/check|probe)$/.test(path))
      assert.notDeepEqual(await markTables(db), before)
    await setStatus('approved')
    if (!path.endsWith('/probe') && !Object.hasOwn(otherAnswers, path)) await assertAnswered(ofOwn, answer)
  })
}

test('what belongs to another partner is not there, under the own address either', async () => {
  const { id, delivery, event, call } = things.get(own)!
  for (const address of [
    `webhooks/${id}`,
    `webhooks/${id}/replay`,
    `webhooks/${id}/recover`,
    `webhooks/${id}/skip`,
    `webhooks/${id}/incident`,
    `deliveries/${delivery}`,
    `test/${event}`,
    `calls/${call}`,
    `clients/${own.client.id}`,
  ]) {
    assert.equal((await other.browser.get(`${other.home}/${address}`)).status, 404, address)
  }
  const found = await other.browser.get(`${other.home}/deliveries?webhook=${id}`)
  assert.match(found.text, /There are no deliveries here\./)
})

test('an id that cannot be one is not there', async () => {
  for (const id of ['0', '-1', 'x', '1.5', '9'.repeat(16), '%00']) {
    assert.equal((await own.browser.get(`${own.home}/webhooks/${id}`)).status, 404, id)
    assert.equal((await own.browser.get(`${own.home}/deliveries/${id}`)).status, 404, id)
    assert.equal((await own.browser.get(`/partner/${id}/webhooks`)).status, 404, id)
  }
})

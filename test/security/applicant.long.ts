/**
 * Whoever applied has the sandbox and nothing live, before anybody has looked at the application. Declined or
 * suspended, they have nothing, from the next request on and on every node.
 */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Gateway } from '../../src/gateway/gateway.ts'
import {
  addMember,
  applyWithDetails,
  decide,
  getPartner,
  type Partner,
  setPartnerStatus,
  setRefreshAccess,
} from '../../src/partners/partner.ts'
import { mayAct, partnerStatuses } from '../../src/partners/partner-status.ts'
import type { User } from '../../src/users/user.ts'
import { environments } from '../../src/vocabulary/environment.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { ask } from '../support/ask.ts'
import { callJson, transaction } from '../support/branch.ts'
import { type Browser, hiddenFields, postForm } from '../support/browser.ts'
import {
  basic,
  openTestGateway,
  type TestClient,
  type TestGateway,
  type TokenBody,
} from '../support/gateway.ts'
import { hears, openSecondNode } from '../support/oauth.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'

let house: TestGateway
let second: Gateway
let receiver: Receiver
before(async () => {
  house = await openTestGateway({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
  second = await openSecondNode(house)
  receiver = await openReceiver()
})
after(async () => {
  await second?.close()
  await house?.close()
  await receiver?.close()
})

const db = () => house.gateway.context.db
let applicants = 0

async function apply(): Promise<{ partner: Partner; user: User; home: string }> {
  const user = await house.makeUser()
  const details = { website: 'https://a.example', contact: 'a@a.example', purpose: 'To try it.' }
  const act = { by: { name: `user:${user.id}` }, at: house.clock.now() }
  const partner = await applyWithDetails(db(), user, { name: `Applicant ${++applicants}`, ...details }, act)
  return { partner, user, home: `/partner/${partner.branchId}` }
}

async function end(partner: Partner, status: 'declined' | 'suspended'): Promise<void> {
  const current = await getPartner(db(), String(partner.branchId))
  const told = hears(second, `branch:${partner.branchId}`)
  assert.ok(await decide(db(), current, { status, reason: 'Not like this' }, house.act()))
  await told
}

test('the rule is the same in the database and out of it', async () => {
  for (const status of partnerStatuses)
    for (const environment of environments) {
      const [answer] = await ask<{ may: boolean }>(db(), 'SELECT may_act($1, $2) AS may', [
        status,
        environment,
      ])
      assert.equal(answer!.may, mayAct(status, environment), `${status} ${environment}`)
    }
  assert.deepEqual(
    partnerStatuses.filter((status) => mayAct(status, 'live')),
    ['approved'],
  )
})

/**
 * Rows of the portal behind the gate of whoever may act, with what an address needs filled in by something
 * that is not there.
 */
const portal = pageRoutes.filter(
  ({ path, gate }) => path.startsWith('/partner/:branch/') && gate.who !== 'member',
)
const fill = (path: string, { branchId }: Partner) =>
  path.replace(':branch', String(branchId)).replaceAll(/:\w+/g, '999999')

async function answersOf(
  browser: Browser,
  partner: Partner,
  rows: typeof portal,
): Promise<Map<string, number>> {
  const { csrf } = hiddenFields((await browser.get('/account')).text, '/logout')
  const answers = new Map<string, number>()
  for (const { method, path } of rows) {
    const address = fill(path, partner)
    // A form without a mark of its own is refused as out of date, whoever sends it: that would say nothing of
    // the gate.
    const form = { csrf: csrf!, once: randomBytes(11).toString('hex') }
    const { status } = method === 'GET' ? await browser.get(address) : await browser.post(address, form)
    answers.set(`${method} ${path}`, status)
  }
  return answers
}

test('pages: every one of the sandbox is open to an applicant, none of the live site is; declined or suspended, none at all', async () => {
  for (const status of ['declined', 'suspended'] as const) {
    const { partner, user, home } = await apply()
    const [live, sandbox] = [await house.signIn(user), await house.signIn(user, 'sandbox')]
    const ofSandbox = portal.filter(({ sites }) => sites.includes('sandbox'))
    const ofLive = portal.filter(({ sites }) => sites.includes('live'))
    for (const [row, answer] of await answersOf(live, partner, ofLive))
      assert.equal(answer, 403, `live ${row}`)
    assert.match((await live.get(`${home}/webhooks`)).text, /has not been decided yet/)
    for (const [row, answer] of await answersOf(sandbox, partner, ofSandbox))
      assert.notEqual(answer, 403, `sandbox ${row}`)
    assert.equal((await sandbox.get(`${home}/webhooks`)).status, 200)
    await end(partner, status)
    for (const [row, answer] of await answersOf(sandbox, partner, ofSandbox))
      assert.equal(answer, 403, `${status} ${row}`)
    assert.match((await sandbox.get(home)).text, /Reason: Not like this/)
  }
})

/** What a client of the partner is answered on a site, on either node. */
const calls = {
  api: (origin: string, client: TestClient) =>
    callJson(`${origin}/v2/webhooks`, 'GET', undefined, basic(client)),
  publish: (origin: string, client: TestClient) =>
    callJson(`${origin}/v2/webhooks/transaction`, 'POST', transaction(), basic(client)),
}

test('API: the client of an applicant works in the sandbox, one for the live site does not; the refusal after a decision is everywhere with the next request', async () => {
  for (const status of ['declined', 'suspended'] as const) {
    const { partner } = await apply()
    const sandbox = await house.makeClient({ partner, environment: 'sandbox' })
    // As the brokerage may register one for somebody whom it is about to approve.
    const live = await house.makeClient({ partner, environment: 'live' })
    const created = await callJson(
      `${house.sandboxUrl}/v2/webhooks`,
      'POST',
      { url: receiver.url(`/${status}`) },
      basic(sandbox),
    )
    assert.equal(created.status, 201, created.text)
    assert.equal((await calls.publish(house.sandboxUrl, sandbox)).status, 202)
    await receiver.count(`/${status}`, 1)
    for (const origin of [house.baseUrl, second.baseUrl]) {
      assert.equal((await calls.api(origin, live)).status, 403)
      assert.equal((await calls.publish(origin, live)).status, 403)
      assert.equal((await calls.api(origin, sandbox)).status, 401, 'nothing of one site is of the other')
    }
    for (const origin of [house.sandboxUrl, second.sandboxUrl])
      assert.equal((await calls.api(origin, sandbox)).status, 200)
    await end(partner, status)
    for (const origin of [house.sandboxUrl, second.sandboxUrl]) {
      assert.equal((await calls.api(origin, sandbox)).status, 403)
      assert.equal((await calls.publish(origin, sandbox)).status, 403)
    }
  }
})

test('personal tokens: a member acts for the applicant in the sandbox and for nobody on the live site; an application under way leaves an approved partner its place', async () => {
  const { partner, user } = await apply()
  const tokens = { live: await house.makeToken(user), sandbox: await house.makeToken(user, 'sandbox') }
  const ask = (environment: 'live' | 'sandbox') => {
    const origin = environment === 'live' ? house.baseUrl : house.sandboxUrl
    return callJson(`${origin}/v2/webhooks`, 'GET', undefined, {
      authorization: `Bearer ${tokens[environment]}`,
    })
  }
  assert.equal((await ask('live')).status, 403)
  assert.equal((await ask('sandbox')).status, 200)
  await addMember(db(), await house.makePartner(), user, house.act())
  for (const environment of environments) assert.equal((await ask(environment)).status, 200)
  await end(partner, 'declined')
  for (const environment of environments) assert.equal((await ask(environment)).status, 200)
})

test('OAuth: a member tries the application in the sandbox; codes, tokens, refreshes and introspection end with the decision, on every node', async () => {
  for (const status of ['declined', 'suspended'] as const) {
    const { partner, user } = await apply()
    await setRefreshAccess(db(), partner, true, house.act())
    const client = await house.makeClient({ partner, environment: 'sandbox' })
    const browser = await house.signIn(user, 'sandbox')
    const code = async () => (await house.approve(client, browser)).get('code')!
    const unused = await code()
    const exchanged = await house.exchange(client, await code())
    assert.equal(exchanged.status, 200, exchanged.text)
    const { access_token, refresh_token } = exchanged.json<TokenBody>()
    assert.equal((await house.profile(access_token, 'sandbox')).status, 200)
    assert.equal((await house.profile(access_token, 'live')).status, 401)
    assert.equal((await house.refresh(client, refresh_token!)).status, 200)
    const introspect = (origin: string) =>
      postForm(`${origin}/v1/oauth/introspect`, { token: access_token }, basic(client))
    for (const origin of [house.sandboxUrl, second.sandboxUrl])
      assert.equal((await introspect(origin)).json<{ active: boolean }>().active, true)
    await end(partner, status)
    assert.equal((await house.profile(access_token, 'sandbox')).status, 401)
    assert.equal((await house.exchange(client, unused)).status, 400)
    assert.equal((await house.refresh(client, refresh_token!)).status, 400)
    for (const origin of [house.sandboxUrl, second.sandboxUrl])
      assert.equal((await introspect(origin)).json<{ active: boolean }>().active, false)
    const query = new URLSearchParams({ client_id: client.id, scope: 'read', state: 'st' })
    const started = await browser.get(`/v1/oauth/authorize?${query}`)
    assert.equal(started.status, 400)
    assert.match(started.text, /not approved at present/)
  }
})

test('OAuth: nobody but a member allows the application of somebody whom nobody has looked at, until the brokerage approves it', async () => {
  const { partner } = await apply()
  const client = await house.makeClient({ partner, environment: 'sandbox' })
  const stranger = await house.signIn(await house.makeUser(), 'sandbox')
  const query = new URLSearchParams({ client_id: client.id, scope: 'read', state: 'st' })
  const open = async () => {
    const started = await stranger.get(`/v1/oauth/authorize?${query}`)
    const login = await stranger.get(started.location!)
    return stranger.get(login.location!)
  }
  const refused = await open()
  assert.equal(refused.status, 403)
  assert.match(refused.text, /only its own members can allow it/)
  await setPartnerStatus(
    db(),
    await getPartner(db(), String(partner.branchId)),
    'approved',
    undefined,
    house.act(),
  )
  const page = await open()
  assert.equal(page.status, 200)
  // A form from the time of an approval is no way in either.
  await ask(db(), `UPDATE partners SET status = 'applied' WHERE branch_id = $1`, [partner.branchId])
  const sent = await stranger.submit(page, '/consent', { decision: 'approve' })
  assert.equal(sent.status, 403)
})

test('OAuth: a client for the live site of somebody who only applied cannot even ask', async () => {
  const { partner, user } = await apply()
  const client = await house.makeClient({ partner, environment: 'live' })
  const browser = await house.signIn(user)
  const query = new URLSearchParams({ client_id: client.id, scope: 'read', state: 'st' })
  const started = await browser.get(`/v1/oauth/authorize?${query}`)
  assert.equal(started.status, 400)
  assert.match(started.text, /not approved at present/)
})

test('a page of the sandbox that changes by itself ends for a member of somebody who is declined', async () => {
  const { partner, user, home } = await apply()
  const browser = await house.signIn(user, 'sandbox')
  assert.equal((await browser.get(home)).status, 200)
  await end(partner, 'declined')
  const page = await browser.get(home)
  assert.doesNotMatch(page.text, /data-live/)
})

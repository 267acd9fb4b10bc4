/**
 * Who holds an account, and how, says who may let applications use it, and for what. What somebody no longer
 * holds, or not in that way, is gone from every token with the next request, on every node.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listAuthorizations } from '../../src/oauth/authorization.ts'
import { createService } from '../../src/services/service.ts'
import { removeHolding, setHolding } from '../../src/users/account.ts'
import { setEmail } from '../../src/users/email.ts'
import { scopesOfRole } from '../../src/users/holding.ts'
import type { User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { type Answer, postForm, send } from '../support/browser.ts'
import { happened } from '../support/by-hand.ts'
import { basic, openHouse, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { hears, openSecondNode } from '../support/oauth.ts'
import { approveForm, openConsent } from '../support/web.ts'

const house = await openHouse()
const other = await keepOpen(openSecondNode(house))
const { db } = house.gateway.context
const orders = await createService(db, 'Orders', 'live', house.act())
const service = { id: orders.service.id, secret: orders.secret.text }
let made = 0

/** Ada owns `OWN…`; somebody else owns `THEIRS…`. */
async function openScene() {
  const n = ++made
  const [own, theirs] = [`OWN${n}X`, `THEIRS${n}`] as const
  const client = await house.makeClient()
  const ada = await house.makeUser(`ada-${n}`, [own])
  const bob = await house.makeUser(`bob-${n}`, [theirs])
  await ask(db, "UPDATE users SET name = 'Bob Beneficiary' WHERE id = $1", [bob.id])
  return { own, theirs, client, ada, bob, browser: await house.signIn(ada) }
}

type Scene = Awaited<ReturnType<typeof openScene>>

const hold = (
  user: User,
  accountNumber: string,
  role: 'adviser' | 'viewer' | 'joint',
  ...scopes: ('read' | 'trade')[]
) => setHolding(db, user, { accountNumber, role, scopes }, house.act())

async function allow({ browser, client }: Scene, scope: string, account?: string[]): Promise<TokenBody> {
  const page = await openConsent(browser, client, { scope })
  const answer = await browser.post('/consent', { ...approveForm(page), ...(account && { account }) })
  const code = new URL(answer.location!).searchParams.get('code')!
  return (await house.exchange(client, code)).json<TokenBody>()
}

function profiles(token: string): Promise<Answer[]> {
  const headers = { authorization: `Bearer ${token}` }
  return Promise.all([house.baseUrl, other.baseUrl].map((url) => send(`${url}/v1/user/profile`, { headers })))
}

const shownIn = (answer: Answer) =>
  answer
    .json<{ profile: { accounts: { account_number: string }[] } }>()
    .profile.accounts.map((a) => a.account_number)

async function telling(user: User, act: () => Promise<unknown>): Promise<void> {
  const heard = [house.gateway, other].map((node) => hears(node, `user:${user.id}`))
  await act()
  await Promise.all(heard)
}

test('the consent page offers the accounts in which the holder may allow what is asked, and says whose an account is that is not theirs', async () => {
  const scene = await openScene()
  await hold(scene.ada, scene.theirs, 'adviser', 'read')
  const trading = await openConsent(scene.browser, scene.client, { scope: 'read trade' })
  assert.match(trading.text, new RegExp(`value="${scene.own}" checked`))
  assert.match(trading.text, new RegExp(`value="${scene.theirs}"><`), "another person's is not ticked")
  assert.match(trading.text, /you cannot allow here: Trade for you/)
  const reading = await openConsent(scene.browser, scene.client, { scope: 'read' })
  assert.match(reading.text, /to use these accounts\?/)
  assert.match(
    reading.text,
    new RegExp(`${scene.theirs} held by <strong>Bob Beneficiary</strong> \\(you are the adviser\\)`),
  )
  assert.doesNotMatch(reading.text, /cannot (grant|allow)/)
})

test('a forged form brings in no account, and no scope, that the holding does not let its holder give', async () => {
  const scene = await openScene()
  await hold(scene.ada, scene.theirs, 'viewer', 'read')
  const page = await openConsent(scene.browser, scene.client, { scope: 'read trade' })
  const everything = { ...approveForm(page), account: [scene.own, scene.theirs] }
  const tooMuch = await scene.browser.post('/consent', everything)
  assert.equal(tooMuch.location, undefined)
  assert.match(tooMuch.text, new RegExp(`In ${scene.theirs} you cannot allow: Trade for you`))
  const forged = await scene.browser.post('/consent', {
    ...everything,
    scope: ['trade'],
    account: [scene.theirs],
  })
  assert.equal(forged.location, undefined)
  assert.deepEqual(await listAuthorizations(db, { userId: scene.ada.id }), [])
  const tokens = await allow(scene, 'read trade', [scene.own])
  assert.equal(tokens.scope, 'read trade')
  for (const answer of await profiles(tokens.access_token)) assert.deepEqual(shownIn(answer), [scene.own])
})

test('whoever may give a part of what is asked gives that part, and the token says so', async () => {
  const scene = await openScene()
  await removeHolding(db, scene.ada, scene.own, house.act())
  await hold(scene.ada, scene.theirs, 'adviser', 'read')
  const page = await openConsent(scene.browser, scene.client, { scope: 'read trade' })
  assert.match(page.text, /to use the account of Bob Beneficiary\?/)
  assert.match(page.text, /also asked for the following, which you cannot grant/)
  const tokens = await allow(scene, 'read trade')
  assert.equal(tokens.scope, 'read')
  for (const answer of await profiles(tokens.access_token)) assert.deepEqual(shownIn(answer), [scene.theirs])
})

test('whoever may give nothing of it can only deny, also by a forged form', async () => {
  const scene = await openScene()
  await removeHolding(db, scene.ada, scene.own, house.act())
  await hold(scene.ada, scene.theirs, 'viewer', 'read')
  const page = await openConsent(scene.browser, scene.client, { scope: 'trade' })
  assert.match(page.text, /cannot grant what it asks for in any of your accounts/)
  assert.doesNotMatch(page.text, /value="approve"/)
  const forged = await scene.browser.submit(page, '/consent', {
    decision: 'approve',
    account: [scene.theirs],
  })
  assert.equal(forged.location, undefined)
  assert.deepEqual(await listAuthorizations(db, { userId: scene.ada.id }), [])
})

test('what became possible while the form was open is not agreed to', async () => {
  const scene = await openScene()
  await removeHolding(db, scene.ada, scene.own, house.act())
  await hold(scene.ada, scene.theirs, 'adviser', 'read')
  const page = await openConsent(scene.browser, scene.client, { scope: 'read trade' })
  await hold(scene.ada, scene.theirs, 'adviser', 'read', 'trade')
  const answer = await scene.browser.post('/consent', approveForm(page))
  const code = new URL(answer.location!).searchParams.get('code')!
  assert.equal((await house.exchange(scene.client, code)).json<TokenBody>().scope, 'read')
})

/** What happens while the form is open, how it was left, and what the page then offers. */
const meanwhile: Record<
  string,
  (scene: Scene) => Promise<{ page: Answer; account?: string[]; offered: string }>
> = {
  'the only account is replaced by another': async (scene) => {
    const page = await openConsent(scene.browser, scene.client, { scope: 'read' })
    await removeHolding(db, scene.ada, scene.own, house.act())
    await hold(scene.ada, scene.theirs, 'adviser', 'read')
    return { page, account: [scene.own], offered: scene.theirs }
  },
  'the account that was ticked is lost, and the one that was not is left': async (scene) => {
    await hold(scene.ada, scene.theirs, 'adviser', 'read')
    const page = await openConsent(scene.browser, scene.client, { scope: 'read' })
    await removeHolding(db, scene.ada, scene.own, house.act())
    return { page, account: [scene.own], offered: scene.theirs }
  },
  'one of two that were ticked is lost': async (scene) => {
    await hold(scene.ada, scene.theirs, 'adviser', 'read')
    const page = await openConsent(scene.browser, scene.client, { scope: 'read' })
    await removeHolding(db, scene.ada, scene.theirs, house.act())
    return { page, account: [scene.own, scene.theirs], offered: scene.own }
  },
  'somebody without an account gets one': async (scene) => {
    await removeHolding(db, scene.ada, scene.own, house.act())
    const page = await openConsent(scene.browser, scene.client, { scope: 'read' })
    await hold(scene.ada, scene.theirs, 'adviser', 'read')
    return { page, offered: scene.theirs }
  },
}

test('accounts that change while the form is open are shown before any of them is allowed', async (t) => {
  for (const [what, change] of Object.entries(meanwhile))
    await t.test(what, async () => {
      const scene = await openScene()
      const { page, account, offered } = await change(scene)
      const sent = { decision: 'approve', ...(account && { account }) }
      const again = await scene.browser.submit(page, '/consent', sent)
      assert.equal(again.location, undefined)
      assert.match(again.text, /accounts have changed|Choose at least one account/)
      assert.deepEqual(await listAuthorizations(db, { userId: scene.ada.id }), [])
      assert.equal((await scene.browser.post('/consent', approveForm(again))).status, 303)
      const [authorization] = await listAuthorizations(db, { userId: scene.ada.id })
      assert.deepEqual(authorization!.accountNumbers, [offered])
    })
})

const suspend = 'UPDATE holdings SET status = $3 WHERE user_id = $1 AND account_number = $2'

test('a suspended holding is refused by the next request on every node, for applications and for personal tokens, until it is resumed', async () => {
  const scene = await openScene()
  const personal = await house.makeToken(scene.ada)
  const { access_token } = await allow(scene, 'read')
  for (const answer of [...(await profiles(access_token)), ...(await profiles(personal))])
    assert.deepEqual(shownIn(answer), [scene.own])
  await telling(scene.ada, () => ask(db, suspend, [scene.ada.id, scene.own, 'suspended']))
  for (const answer of await profiles(access_token)) assert.equal(answer.status, 401, answer.text)
  for (const answer of await profiles(personal)) assert.deepEqual(shownIn(answer), [])
  await telling(scene.ada, () => ask(db, suspend, [scene.ada.id, scene.own, 'active']))
  for (const answer of [...(await profiles(access_token)), ...(await profiles(personal))])
    assert.deepEqual(shownIn(answer), [scene.own])
})

async function reaches(token: string): Promise<unknown[]> {
  const ask = async (url: string) =>
    (await postForm(`${url}/v1/oauth/introspect`, { token }, basic(service))).json()
  const told = await Promise.all([house.baseUrl, other.baseUrl].map(ask))
  for (const each of told) assert.equal(each.active, true)
  return told.map((each) => each.account_numbers)
}

const closeAccount = "UPDATE accounts SET status = 'closed' WHERE account_number = $1"

test('a personal token reaches the accounts in which its user may do all that it can do, as services are told on every node', async () => {
  const { ada, own, theirs } = await openScene()
  const joint = `${theirs}J`
  await house.makeUser(undefined, [joint])
  const personal = await house.makeToken(ada)
  const reachesOnly = async (...numbers: string[]) =>
    assert.deepEqual(await reaches(personal), [numbers, numbers])
  await reachesOnly(own)
  for (const role of ['viewer', 'adviser'] as const) {
    await telling(ada, () => hold(ada, theirs, role, 'read'))
    await reachesOnly(own)
    for (const answer of await profiles(personal))
      assert.deepEqual(shownIn(answer).sort(), [own, theirs].sort())
  }
  const jointly = { accountNumber: joint, role: 'joint', scopes: scopesOfRole.joint } as const
  await telling(ada, () => setHolding(db, ada, jointly, house.act()))
  await reachesOnly(own, joint)
  await telling(ada, () => ask(db, suspend, [ada.id, joint, 'suspended']))
  await reachesOnly(own)
  await telling(ada, () => ask(db, suspend, [ada.id, joint, 'active']))
  await reachesOnly(own, joint)
  await telling(ada, () => removeHolding(db, ada, joint, house.act()))
  await reachesOnly(own)
  await telling(ada, () => ask(db, closeAccount, [own]))
  await reachesOnly()
})

test('a holding that lets its holder give less takes the account from tokens that can do more, on every node', async () => {
  const scene = await openScene()
  await hold(scene.ada, scene.theirs, 'joint', 'read', 'trade')
  const trading = await allow(scene, 'read trade', [scene.own, scene.theirs])
  for (const answer of await profiles(trading.access_token)) assert.equal(shownIn(answer).length, 2)
  await telling(scene.ada, () => hold(scene.ada, scene.theirs, 'joint', 'read'))
  for (const answer of await profiles(trading.access_token)) assert.deepEqual(shownIn(answer), [scene.own])
})

test('a removed holding leaves every authorization for good: the last one ends, partner and holder are told', async () => {
  const scene = await openScene()
  await setEmail(db, scene.ada, 'ada@example.com', house.act())
  await hold(scene.ada, scene.theirs, 'joint', 'read')
  const { access_token } = await allow(scene, 'read', [scene.own, scene.theirs])
  const remove = (number: string) =>
    telling(scene.ada, () => removeHolding(db, scene.ada, number, house.act()))
  await remove(scene.theirs)
  for (const answer of await profiles(access_token)) assert.deepEqual(shownIn(answer), [scene.own])
  await hold(scene.ada, scene.theirs, 'joint', 'read')
  for (const answer of await profiles(access_token))
    assert.deepEqual(shownIn(answer), [scene.own], 'it does not come back')
  await remove(scene.own)
  for (const answer of await profiles(access_token)) assert.equal(answer.status, 401, answer.text)
  assert.deepEqual(await listAuthorizations(db, { userId: scene.ada.id }), [])
  const told = await ask<{ ended: boolean }>(
    db,
    "SELECT facts -> 'ended' AS ended FROM notices WHERE user_id = $1 AND kind = 'access-ended' ORDER BY id",
    [scene.ada.id],
  )
  assert.deepEqual(told, [{ ended: false }, { ended: true }])
  const events = await ask<{ action: string }>(
    db,
    `SELECT action FROM ${happened} WHERE kind = 'AUTHORIZATION' AND body::json ->> 'userId' = $1
        ORDER BY place`,
    [scene.ada.id],
  )
  assert.deepEqual(
    events.map(({ action }) => action),
    ['GRANTED', 'CHANGED', 'REVOKED'],
  )
})

test('a removed holding leaves an authorization that is being changed at the same moment', async () => {
  const scene = await openScene()
  await hold(scene.ada, scene.theirs, 'joint', 'read')
  await allow(scene, 'read', [scene.own, scene.theirs])
  const pause = 'UPDATE authorizations SET paused_at = now() WHERE user_id = $1'
  const [, removed] = await runBehind(
    db,
    (sql) => ask(sql, pause, [scene.ada.id]),
    () => removeHolding(db, scene.ada, scene.theirs, house.act()),
  )
  assert.equal(removed.status, 'fulfilled')
  await hold(scene.ada, scene.theirs, 'joint', 'read')
  const [authorization] = await listAuthorizations(db, { userId: scene.ada.id })
  assert.deepEqual(authorization!.accountNumbers, [scene.own], 'it does not come back with the account')
})

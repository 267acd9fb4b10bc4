/**
 * What a token may do is, at each use, what its grant, its authorization, its client and the accounts that
 * the holder still holds have in common. Whatever of it shrinks shrinks every token that was given out, with
 * the next request, on every node.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listAuthorizations } from '../../src/oauth/authorization.ts'
import { createService } from '../../src/services/service.ts'
import type { User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { type Answer, type Browser, postForm, send } from '../support/browser.ts'
import { basic, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { assertOAuthError, hears, openSecondNode } from '../support/oauth.ts'
import { approveForm, openConsent } from '../support/web.ts'

const house = await openHouse()
const other = await keepOpen(openSecondNode(house))
const { db } = house.gateway.context
const orders = await createService(db, 'Orders', 'live', house.act())
const service = { id: orders.service.id, secret: orders.secret.text }

interface Scene {
  readonly client: TestClient
  readonly user: User
  readonly browser: Browser
  readonly accounts: readonly [string, string]
  readonly tokens: TokenBody
  readonly authorization: string
}

let made = 0

/**
 * A holder with two accounts who has allowed a client to read and to trade with both. Both nodes remember the
 * token.
 */
async function openScene(rotate = false): Promise<Scene> {
  const n = ++made
  const accounts = [`NARROW${n}A`, `NARROW${n}B`] as const
  const client = await house.makeClient({ rotate })
  const user = await house.makeUser(`narrow-${n}`, accounts)
  const browser = await house.signIn(user)
  const tokens = await allow({ client, browser }, 'read trade', accounts)
  for (const answer of await profiles(tokens.access_token)) assert.equal(answer.status, 200, answer.text)
  const [approval] = await listAuthorizations(house.gateway.context.db, { userId: user.id })
  return { client, user, browser, accounts, tokens, authorization: `authorization:${approval!.id}` }
}

async function allow(
  { client, browser }: Pick<Scene, 'client' | 'browser'>,
  scope: string,
  account: readonly string[],
): Promise<TokenBody> {
  const page = await openConsent(browser, client, { scope })
  const answer = await browser.post('/consent', { ...approveForm(page), account: [...account] })
  const code = new URL(answer.location!).searchParams.get('code')!
  return (await house.exchange(client, code)).json<TokenBody>()
}

function profiles(token: string): Promise<Answer[]> {
  const headers = { authorization: `Bearer ${token}` }
  return Promise.all([house.baseUrl, other.baseUrl].map((url) => send(`${url}/v1/user/profile`, { headers })))
}

/**
 * What a service of the brokerage is told; of a refresh token only the client that has it learns anything.
 */
async function introspect(
  token: string,
  asker: Parameters<typeof basic>[0] = service,
): Promise<Record<string, unknown>[]> {
  const ask = (url: string) => postForm(`${url}/v1/oauth/introspect`, { token }, basic(asker))
  return (await Promise.all([ask(house.baseUrl), ask(other.baseUrl)])).map((answer) => answer.json())
}

/** As somebody in psql, or another system of the brokerage, writes it. */
async function write(text: string, values: unknown[], ...tags: string[]): Promise<void> {
  const heard = [house.gateway, other].flatMap((node) => tags.map((tag) => hears(node, tag)))
  await ask(house.gateway.context.db, text, values)
  await Promise.all(heard)
}

async function tellingOther<Result>(tag: string, act: () => Promise<Result>): Promise<Result> {
  const heard = hears(other, tag)
  const result = await act()
  await heard
  return result
}

const setScopes = ({ client }: Scene, scopes: string[]) =>
  write('UPDATE clients SET scopes = $2 WHERE id = $1', [client.id, scopes], `client:${client.id}`)

/** Takes `read` away, and gives it back. */
const scopeTakers: Record<
  string,
  { narrow(scene: Scene): Promise<unknown>; widen(scene: Scene): Promise<unknown> }
> = {
  'the client is allowed less': {
    narrow: (scene) => setScopes(scene, ['market', 'trade']),
    widen: (scene) => setScopes(scene, ['read', 'trade']),
  },
  'the holder approves again with less': {
    narrow: (scene) => tellingOther(scene.authorization, () => allow(scene, 'trade', scene.accounts)),
    widen: (scene) => tellingOther(scene.authorization, () => allow(scene, 'read trade', scene.accounts)),
  },
}

for (const [when, { narrow, widen }] of Object.entries(scopeTakers)) {
  test(`when ${when}, a scope that is gone is gone from every token given before, on every node, until it comes back`, async () => {
    const scene = await openScene()
    const { access_token, refresh_token } = scene.tokens
    await narrow(scene)
    for (const refused of await profiles(access_token)) {
      assert.equal(refused.status, 403, refused.text)
      assert.equal(refused.json().error, 'insufficient_scope')
    }
    const asked = [...(await introspect(access_token)), ...(await introspect(refresh_token!, scene.client))]
    for (const told of asked) assert.equal(told.scope, 'trade')
    assertOAuthError(await house.refresh(scene.client, refresh_token!, { scope: 'read' }), 'invalid_scope')
    const meanwhile = (await house.refresh(scene.client, refresh_token!)).json<TokenBody>()
    assert.equal(meanwhile.scope, 'trade')
    for (const refused of await profiles(meanwhile.access_token)) assert.equal(refused.status, 403)
    await widen(scene)
    for (const answer of await profiles(access_token)) assert.equal(answer.status, 200, answer.text)
    for (const told of await introspect(access_token)) assert.equal(told.scope, 'read trade')
    for (const refused of await profiles(meanwhile.access_token))
      assert.equal(refused.status, 403, 'a token never grows beyond what was said when it was made')
    assert.equal((await house.refresh(scene.client, refresh_token!)).json<TokenBody>().scope, 'read trade')
  })

  test(`with rotation, when ${when}, a refresh and its repetition tell what is left`, async () => {
    const scene = await openScene(true)
    const { refresh_token } = scene.tokens
    const first = (await house.refresh(scene.client, refresh_token!)).json<TokenBody>()
    assert.equal(first.scope, 'read trade')
    await narrow(scene)
    const repeated = (await house.refresh(scene.client, refresh_token!)).json<TokenBody>()
    assert.deepEqual([repeated.access_token, repeated.scope], [first.access_token, 'trade'])
    assertOAuthError(
      await house.refresh(scene.client, first.refresh_token!, { scope: 'read trade' }),
      'invalid_scope',
    )
    assert.equal((await house.refresh(scene.client, first.refresh_token!)).json<TokenBody>().scope, 'trade')
  })
}

test('a token of which no scope is left is 403 at the interface and inactive to whoever asks, and refreshes to nothing', async () => {
  const scene = await openScene()
  const code = (await house.approve(scene.client, scene.browser, { scope: 'read trade' })).get('code')!
  await setScopes(scene, ['market'])
  for (const refused of await profiles(scene.tokens.access_token)) assert.equal(refused.status, 403)
  const { access_token, refresh_token } = scene.tokens
  const asked = [...(await introspect(access_token)), ...(await introspect(refresh_token!, scene.client))]
  for (const told of asked) assert.deepEqual(told, { active: false })
  assertOAuthError(await house.refresh(scene.client, scene.tokens.refresh_token!), 'invalid_scope')
  assertOAuthError(await house.exchange(scene.client, code), 'invalid_scope')
  await setScopes(scene, ['read', 'market'])
  const answer = await house.exchange(scene.client, code)
  assert.equal(answer.json<TokenBody>().scope, 'read', 'a code that was refused for this is not used up')
})

const setHolder = 'UPDATE holdings SET user_id = $2 WHERE account_number = $1'
const setStatus = 'UPDATE accounts SET status = $2 WHERE account_number = $1'

async function give({ user }: Scene, account: string): Promise<void> {
  const next = await house.makeUser(undefined, [])
  await write(setHolder, [account, next.id], `user:${user.id}`)
}

/** Takes one account away, and gives it back. */
const accountTakers: Record<
  string,
  { take: (scene: Scene, account: string) => Promise<void>; back: typeof give }
> = {
  'is closed': {
    take: ({ user }, account) => write(setStatus, [account, 'closed'], `user:${user.id}`),
    back: ({ user }, account) => write(setStatus, [account, 'active'], `user:${user.id}`),
  },
  'is given to another holder': {
    take: give,
    back: ({ user }, account) => write(setHolder, [account, user.id], `user:${user.id}`),
  },
}

const shownIn = (answer: Answer) =>
  answer
    .json<{ profile: { accounts: { account_number: string }[] } }>()
    .profile.accounts.map((a) => a.account_number)

for (const rotate of [false, true])
  for (const [what, { take, back }] of Object.entries(accountTakers)) {
    test(`an account that ${what} leaves every token given before, and the last one ends them until it comes back${rotate ? ', with rotation too' : ''}`, async () => {
      const scene = await openScene(rotate)
      const [first, second] = scene.accounts
      const { access_token } = scene.tokens
      let refresh_token = scene.tokens.refresh_token!
      for (const told of await introspect(access_token))
        assert.deepEqual(told.account_numbers, [first, second])
      await take(scene, first)
      for (const answer of await profiles(access_token)) assert.deepEqual(shownIn(answer), [second])
      for (const told of await introspect(access_token)) assert.deepEqual(told.account_numbers, [second])
      for (const told of await introspect(refresh_token, scene.client)) assert.equal(told.active, true)
      const refreshed = (await house.refresh(scene.client, refresh_token)).json<TokenBody>()
      refresh_token = refreshed.refresh_token!
      for (const answer of await profiles(refreshed.access_token)) assert.deepEqual(shownIn(answer), [second])
      await take(scene, second)
      for (const token of [access_token, refreshed.access_token])
        for (const refused of await profiles(token)) {
          assert.equal(refused.status, 401, refused.text)
          assert.match(String(refused.json().error_description), /no longer holds/)
        }
      const ended = [...(await introspect(access_token)), ...(await introspect(refresh_token, scene.client))]
      for (const told of ended) assert.deepEqual(told, { active: false })
      assertOAuthError(await house.refresh(scene.client, refresh_token), 'invalid_grant')
      await back(scene, second)
      for (const answer of await profiles(access_token)) assert.deepEqual(shownIn(answer), [second])
      assert.equal((await house.refresh(scene.client, refresh_token)).status, 200)
    })
  }

test('approving again with fewer accounts takes the others from every token given before, on every node', async () => {
  const scene = await openScene()
  const [first, second] = scene.accounts
  const { access_token, refresh_token } = scene.tokens
  await tellingOther(scene.authorization, () => allow(scene, 'read trade', [second]))
  for (const answer of await profiles(access_token)) assert.deepEqual(shownIn(answer), [second])
  const refreshed = (await house.refresh(scene.client, refresh_token!)).json<TokenBody>()
  for (const answer of await profiles(refreshed.access_token)) assert.deepEqual(shownIn(answer), [second])
  await tellingOther(scene.authorization, () => allow(scene, 'read trade', [first]))
  for (const answer of await profiles(access_token)) assert.deepEqual(shownIn(answer), [first])
})

test('approving again with more widens nothing that was given before', async () => {
  const client = await house.makeClient()
  const browser = await house.signIn(await house.makeUser(undefined, ['MORE0001', 'MORE0002']))
  const { access_token, refresh_token } = await allow({ client, browser }, 'read', ['MORE0001'])
  await allow({ client, browser }, 'read trade', ['MORE0001', 'MORE0002'])
  for (const answer of await profiles(access_token)) assert.deepEqual(shownIn(answer), ['MORE0001'])
  assert.equal((await house.refresh(client, refresh_token!)).json<TokenBody>().scope, 'read')
  assertOAuthError(await house.refresh(client, refresh_token!, { scope: 'trade' }), 'invalid_scope')
})

test('a code whose account went to another holder before it was traded gives no tokens', async () => {
  const scene = await openScene()
  const code = (await house.approve(scene.client, scene.browser)).get('code')!
  for (const account of scene.accounts) await give(scene, account)
  assertOAuthError(await house.exchange(scene.client, code), 'invalid_grant')
})

test('whichever comes first, narrowing or exchanging, no token keeps what was taken away', async () => {
  const scenes = await Promise.all(Array.from({ length: 4 }, () => openScene()))
  for (const scene of scenes) {
    const { client, browser } = scene
    const codes: string[] = []
    for (let n = 0; n < 6; n++)
      codes.push((await house.approve(client, browser, { scope: 'read trade' })).get('code')!)
    const [narrowed, ...answers] = await Promise.all([
      setScopes(scene, ['trade']),
      ...codes.map((code) => house.exchange(client, code)),
      ...codes.map(() => house.refresh(client, scene.tokens.refresh_token!)),
    ])
    assert.equal(narrowed, undefined)
    for (const answer of answers) {
      assert.equal(answer.status, 200, answer.text)
      for (const refused of await profiles(answer.json<TokenBody>().access_token))
        assert.equal(refused.status, 403)
    }
  }
})

test('a closed account cannot be shared: the consent page does not offer it, and a forged form does not bring it in', async () => {
  const scene = await openScene()
  const [first, second] = scene.accounts
  await accountTakers['is closed']!.take(scene, first)
  const page = await openConsent(scene.browser, scene.client, { scope: 'read' })
  assert.equal(page.text.includes(first), false)
  const forged = await scene.browser.submit(page, '/consent', {
    decision: 'approve',
    account: [first, second],
  })
  assert.equal(forged.location, undefined)
  const tokens = await allow(scene, 'read', [second])
  for (const told of await introspect(tokens.access_token)) assert.deepEqual(told.account_numbers, [second])
})

test('the page of connected applications, the consent page and the history say what tokens can do now', async () => {
  const scene = await openScene()
  const { browser, accounts } = scene
  const shown = async () => (await browser.get('/account')).text
  assert.match(await shown(), /Trade for you/)
  const page = await openConsent(browser, scene.client, { scope: 'read' })
  assert.match(page.text, /replaces what you allowed before/)
  assert.match(page.text, /no longer be able to[\s\S]*Trade for you/)
  await allow(scene, 'read', [accounts[1]])
  assert.doesNotMatch(await shown(), /Trade for you/)
  assert.match(await shown(), new RegExp(`<dd>${accounts[1]}</dd>`))
  assert.match(
    (await browser.get('/account/history')).text,
    new RegExp(`See your account · in account ${accounts[1]}`),
  )
  await accountTakers['is closed']!.take(scene, accounts[1])
  assert.match(await shown(), /no longer hold any of the accounts/)
  await accountTakers['is closed']!.back(scene, accounts[1])
  await setScopes(scene, ['market'])
  assert.match(await shown(), /The brokerage no longer lets this application do/)
})

/**
 * The test holders of a partner: they approve its clients in the sandbox, and nothing about them can be
 * changed, by whatever page, form, command, endpoint or statement.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertEntry } from '../../src/audit/audit.ts'
import { listedPowers } from '../../src/audit/powers.ts'
import { generateKey, openVault, type Vault } from '../../src/crypto/vault.ts'
import { applyAsPartner, getPartner, type Partner, setPartnerStatus } from '../../src/partners/partner.ts'
import { isTestPassword, listTestHolders, type TestHolder } from '../../src/users/test-holder.ts'
import { getUserById } from '../../src/users/user.ts'
import { findUsers } from '../../src/users/user-search.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { openCommandLineAt } from '../cli/command-line.ts'
import { ask } from '../support/ask.ts'
import { Browser } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openPartner, suspend } from '../support/portal.ts'
import { guess, markTables, openConsent, signInWith, startRequest, tokenOf } from '../support/web.ts'

const house = await openHouse()
const { db, vault } = house.gateway.context
const own = await openPartner(house)
const other = await openPartner(house)
const client = await house.makeClient({ partner: own.partner, environment: 'sandbox' })
const [ada, ben] = (await listTestHolders(db, vault, own.partner.branchId)) as [TestHolder, TestHolder]

async function signInAs({ username, password }: TestHolder): Promise<Browser> {
  const browser = new Browser(house.sandboxUrl)
  const answer = await signInWith(browser, username, { password })
  assert.equal(answer.status, 303, answer.text)
  return browser
}

const refusal = { code: 'conflict', message: /^Test holders stay as they were made/ }

test('every partner has test holders of its own from the day it applies, one account of them joint', async () => {
  const { branchId } = await applyAsPartner(db, 'Newly Applied', house.act())
  const holders = await listTestHolders(db, vault, branchId)
  assert.deepEqual(
    holders.map(({ name }) => name),
    ['Ada Test', 'Ben Test', 'Cleo Test'],
  )
  const shared = `SELECT account_number FROM holdings JOIN users u ON u.id = user_id
    WHERE u.test_of = $1 AND holdings.role = 'joint' GROUP BY account_number HAVING count(*) = 2`
  assert.equal((await ask(db, shared, [branchId])).length, 1)
})

test('the portal of the sandbox lists them with their passwords, to members alone', async () => {
  const path = `/partner/${own.partner.branchId}/test-holders`
  const member = await house.signIn(own.user, 'sandbox')
  const page = await member.get(path)
  assert.equal(page.status, 200)
  for (const { username, password } of [ada, ben]) {
    assert.ok(page.text.includes(username))
    assert.ok(page.text.includes(password))
  }
  assert.match(page.text, /joint[\s\S]*Ben Test/)
  assert.equal((await (await house.signIn(other.user, 'sandbox')).get(path)).status, 404)
  assert.equal((await own.browser.get(path)).status, 404, 'the live site has no such page')
  assert.equal((await (await signInAs(ada)).get(path)).status, 403)
})

test('a test holder approves a client of their partner, and the application sees their accounts', async () => {
  const code = (await house.approve(client, await signInAs(ben))).get('code')!
  const exchanged = await house.exchange(client, code)
  assert.equal(exchanged.status, 200, exchanged.text)
  const { access_token } = exchanged.json<{ access_token: string }>()
  const answer = await house.profile(access_token, 'sandbox')
  assert.equal(answer.status, 200, answer.text)
  const { profile } = answer.json<{
    profile: { name: string; accounts: readonly { account_number: string }[] }
  }>()
  assert.equal(profile.name, 'Ben Test')
  assert.equal(profile.accounts.length, 2)
  for (const { account_number } of profile.accounts) assert.match(account_number, /^TEST[A-Z0-9]{10}$/)
})

test('a test holder of an applicant tries its client before the brokerage has decided', async () => {
  const { branchId } = await applyAsPartner(db, 'Still Waiting', house.act())
  const [holder] = await listTestHolders(db, vault, branchId)
  const partner = await getPartner(db, String(branchId))
  const tried = await house.makeClient({ partner, environment: 'sandbox', scope: 'read market' })
  assert.ok((await house.approve(tried, await signInAs(holder!))).get('code'))
})

test('a test holder approves no client of another partner, in whatever way', async () => {
  const foreign = await house.makeClient({ partner: other.partner, environment: 'sandbox' })
  const browser = await signInAs(ada)
  const login = await browser.get(await startRequest(browser, foreign))
  const page = await browser.get(login.location!)
  assert.equal(page.status, 403)
  assert.match(page.text, /test holder of another partner/)
  const own = await openConsent(browser, client)
  const { pathname } = new URL(login.location!, house.sandboxUrl)
  const request = new URL(login.location!, house.sandboxUrl).searchParams.get('request')!
  const sent = await browser.submit(own, pathname, { request, decision: 'approve' })
  assert.equal(sent.status, 403)
  const insert = `INSERT INTO authorizations (user_id, client_id, scopes, account_numbers, approved_at, consented_at)
    VALUES ($1, $2, '{read}', '{}', now(), now())`
  await assert.rejects(ask(db, insert, [ada.id, foreign.id]), /sandbox clients of their own partner/)
})

test('a test holder does not sign in on the live site: the answer is that of a wrong password', async () => {
  const [right, wrong] = [await guess(house, ada.username, ada.password), await guess(house, ada.username)]
  assert.deepEqual([right.status, wrong.status], [401, 401])
  assert.equal(right.text.replaceAll(/value="[^"]*"/g, ''), wrong.text.replaceAll(/value="[^"]*"/g, ''))
  const insert = `INSERT INTO sessions (hash, user_id, environment, created_at, first_seen_at, authenticated_at,
    last_seen_at, address, user_agent) VALUES (sha256('x'), $1, 'live', now(), now(), now(), now(), '::1', '')`
  await assert.rejects(ask(db, insert, [ada.id]), refusal)
})

test('a sandbox session of a test holder is none on the live site', async () => {
  const browser = await signInAs(ada)
  const live = new Browser(house.baseUrl)
  live.cookies.set('countersign-live-session', browser.cookies.get('countersign-sandbox-session')!)
  assert.equal((await live.get('/account')).status, 303)
})

test('guessing is slowed for them as for anybody, and nobody else knows whom to keep waiting', async () => {
  const { branchId } = await house.makePartner()
  const [first, second] = (await listTestHolders(db, vault, branchId)) as [TestHolder, TestHolder]
  for (let time = 0; time < 6; time++) {
    const browser = new Browser(house.sandboxUrl)
    await signInWith(browser, first.username, { password: 'not the right one' })
  }
  const waits = await signInWith(new Browser(house.sandboxUrl), first.username, { password: first.password })
  assert.equal(waits.status, 401)
  await signInAs(second)
  await signInAs(ben)
  const tags = [first, ben].map(({ username }) => username.split('#')[1])
  assert.notEqual(tags[0], tags[1])
  for (const tag of tags) assert.match(tag!, /^[a-z0-9]{10}$/)
  const queued = await ask(db, 'SELECT FROM locked_people WHERE user_id = $1', [first.id])
  assert.equal(queued.length, 0, 'whoever looks after customers does not hear of it')
})

test('a partner that is suspended has no test holders until it is approved again', async () => {
  const { partner } = await openPartner(house)
  const [holder] = (await listTestHolders(db, vault, partner.branchId)) as [TestHolder]
  const browser = await signInAs(holder)
  await suspend(house, partner, 'The terms were broken.')
  assert.equal((await browser.get('/account')).status, 303)
  const refused = await signInWith(new Browser(house.sandboxUrl), holder.username, {
    password: holder.password,
  })
  assert.equal(refused.status, 401)
  const now: Partner = await getPartner(db, String(partner.branchId))
  await setPartnerStatus(db, now, 'approved', undefined, house.act())
  await signInAs(holder)
})

test('while keys are rotated, the password of before and the new one both count', async () => {
  const [before, after] = [generateKey(), generateKey()]
  const vaultOf = (...keys: (typeof before)[]) => openVault({ kind: 'environment', keys })
  const shownBy = async (shown: Vault) =>
    (await listTestHolders(db, shown, own.partner.branchId))[0]!.password
  const passwords = [await shownBy(vaultOf(before)), await shownBy(vaultOf(after, before))] as const
  assert.notEqual(...passwords)
  const counts = (...keys: (typeof before)[]) =>
    passwords.map((password) => isTestPassword(vaultOf(...keys), ada, password))
  assert.deepEqual(counts(before), [true, false])
  assert.deepEqual(counts(after, before), [true, true])
  assert.deepEqual(counts(after), [false, true])
})

test('only what account holders do with applications lets a test holder through', async () => {
  const browser = await signInAs(ada)
  const csrf = await tokenOf(browser)
  const rows = pageRoutes.filter(({ gate, sites }) => gate.who !== 'anyone' && sites.includes('sandbox'))
  assert.ok(rows.length > 40)
  for (const { method, path, gate } of rows) {
    const address = path
      .replace(':branch', String(own.partner.branchId))
      .replace(':client', client.id)
      .replaceAll(/:\w+/g, '1')
    const answer = method === 'GET' ? await browser.get(address) : await browser.post(address, { csrf })
    if (gate.testHolders) assert.notEqual(answer.status, 403, `${method} ${path}`)
    else assert.equal(answer.status, 403, `${method} ${path}`)
  }
  const open = rows.filter(({ gate }) => gate.testHolders).map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(open.toSorted(), [
    'GET /account',
    ...['pause', 'resume', 'revoke'].map((act) => `POST /account/${act}`),
  ])
})

test('no act on a person that leaves an entry can be done to a test holder, by whatever statement', async () => {
  for (const [action] of listedPowers) {
    const entry = insertEntry(db, house.act(), action, `user:${ada.id}`, {})
    if (action === 'user.enabled') await entry
    else await assert.rejects(entry, refusal, action)
  }
  const statements = [
    ...['email = $$a@example.com$$', 'password_hash = $$x$$', 'role = $$holder$$', 'name = $$Eve$$'].map(
      (set) => `UPDATE users SET ${set} WHERE id = $1`,
    ),
    `INSERT INTO partner_members (branch_id, user_id, role, added_at) VALUES (${own.partner.branchId}, $1, 'owner', now())`,
    `UPDATE accounts SET status = 'closed' WHERE test_of IS NOT NULL AND $1 <> ''`,
    `INSERT INTO password_resets (user_id, token_hash, seed, made_at, expires_at) VALUES ($1, sha256('t'), 's', now(), now() + interval '1 hour')`,
  ]
  for (const text of statements) await assert.rejects(ask(db, text, [ada.id]), refusal, text)
})

test('no command changes a test holder: each refuses in words', async () => {
  const line = await keepOpen(
    Promise.resolve(openCommandLineAt({ ...house.settings, AUDIT_ANCHOR_FILE: 'off' })),
  )
  const [{ number }] = (await ask<{ number: string }>(
    db,
    'SELECT account_number AS number FROM holdings WHERE user_id = $1 LIMIT 1',
    [ada.id],
  )) as [{ number: string }]
  const customer = await house.makeUser()
  const { branchId } = own.partner
  const tries: Readonly<Record<string, readonly string[]>> = {
    'user password': [ada.username],
    'user set-email': [ada.username, '--email', 'ada@example.com'],
    'user reset-second-factor': [ada.username],
    'user account': [ada.username, '--number', 'VA77001', '--type', 'cash', '--environment', 'sandbox'],
    'user hold': [customer.username, '--number', number, '--role', 'owner'],
    'user link': [ada.username, '--external-id', 'C-1'],
    'user link-account': [number, '--external-id', 'A-1', '--source', 'sandbox'],
    'token create': ['--user', ada.username, '--name', 'x', '--environment', 'sandbox'],
    'partner add-member': [String(branchId), ada.username],
    'staff give': [ada.username, '--role', 'viewer'],
  }
  const before = await markTables(db)
  for (const [command, words] of Object.entries(tries)) {
    const { code, stderr } = await line.fail(...command.split(' '), ...words)
    assert.equal(code, 1, `${command}: ${stderr}`)
    assert.doesNotMatch(stderr, /constraint|violates|relation/, command)
  }
  assert.deepEqual(await markTables(db), before)
  const ofPeople = listedPowers.filter(([action]) => /^(user|second_factor|api_token)\./.test(action))
  const named = ofPeople.flatMap(([, power]) => ('commands' in power ? (power.commands ?? []) : []))
  const elsewhere = ['user create', 'user enable', 'staff take']
  for (const command of named) assert.ok(command in tries || elsewhere.includes(command), command)
})

test('operators change nothing of a test holder in the console, find one by name alone, and may lock one', async () => {
  const desk = await openConsole(house, 'Olga Operator')
  const page = await desk.browser.get(`/console/users/${ada.id}`)
  assert.match(page.text, /test holder/)
  const found = async (text?: string) => (await findUsers(db, { text }, 1_000)).users.map(({ id }) => id)
  assert.equal((await found()).includes(ada.id), false)
  assert.equal((await found('Ada Test')).includes(ada.id), false)
  assert.ok((await found(ada.username)).includes(ada.id))
  const csrf = await tokenOf(desk.browser)
  const before = await markTables(db)
  for (const [verb, fields] of [
    ['email', { email: 'x@example.com' }],
    ['reset', {}],
    ['factors/reset', {}],
  ] as const) {
    const answer = await desk.browser.post(`/console/users/${ada.id}/${verb}`, {
      csrf,
      reason: 'x',
      ...fields,
    })
    assert.notEqual(answer.status, 500, verb)
  }
  assert.deepEqual(await markTables(db), before)
  const lock = (verb: string) => desk.browser.post(`/console/users/${ada.id}/${verb}`, { csrf, reason: 'x' })
  assert.equal((await lock('lock')).status, 303)
  assert.equal((await getUserById(db, ada.id)).status, 'disabled')
  assert.equal((await lock('unlock')).status, 303)
})

test('a source gives no test holder an account, and no username of a person has the shape of theirs', async () => {
  const insert = `INSERT INTO users (id, username, name, created_at, updated_at)
    VALUES ('id-aaaaaaaaaaaa', 'ada#anything', 'Eve', now(), now())`
  await assert.rejects(ask(db, insert), /users_username_of_role/)
  const customer = await house.makeUser()
  const hold = `INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
    SELECT $1, account_number, 'owner', '{read}', now(), now() FROM accounts WHERE (test_of IS NULL) = $2 LIMIT 1`
  await assert.rejects(ask(db, hold, [ada.id, true]), { code: 'conflict' })
  await assert.rejects(ask(db, hold, [customer.id, false]), { code: 'conflict' })
})

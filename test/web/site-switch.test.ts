/** From the live site to the sandbox without a second sign-in, and never the other way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hour, minute, second } from '../../src/clock.ts'
import { setUserStatus, type User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { type Answer, Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openSecondNode } from '../support/oauth.ts'
import { openPartner } from '../support/portal.ts'
import { countRows, pathOf, signInWith, startRequest, tokenOf } from '../support/web.ts'

const house = await openHouse()
const second_ = await keepOpen(openSecondNode(house))
const { db } = house.gateway.context

/** One browser at both sites. */
interface Person {
  readonly user: User
  readonly live: Browser
  readonly sandbox: Browser
}

async function arrive(user?: User): Promise<Person> {
  const who = user ?? (await house.makeUser())
  return { user: who, live: await house.signIn(who), sandbox: new Browser(house.sandboxUrl) }
}

/** Up to the code: what the sandbox is asked last. */
async function setOut({ live, sandbox }: Person, path = '/account'): Promise<string> {
  const out = await sandbox.get(`/login/live?return=${encodeURIComponent(path)}`)
  assert.equal(out.status, 303)
  assert.ok(out.location!.startsWith(`${house.baseUrl}/login/sandbox?`), out.location)
  const back = await live.get(pathOf(out))
  assert.ok(back.location!.startsWith(`${house.sandboxUrl}/`), back.location)
  return pathOf(back)
}

const change = async (person: Person, path?: string) => person.sandbox.get(await setOut(person, path))
const isIn = async ({ sandbox }: Person) => (await sandbox.get('/account')).status === 200
const wasRefused = (answer: Answer) => answer.location!.startsWith('/login?')

test('whoever is signed in on the live site follows its link and is signed in in the sandbox, on the same page', async () => {
  const own = await openPartner(house)
  const page = await own.browser.get(`${own.home}/webhooks`)
  const [, link] = /href="([^"]+)">Sandbox</.exec(page.text)!
  const person = { user: own.user, live: own.browser, sandbox: new Browser(house.sandboxUrl) }
  const out = await person.sandbox.get(pathOf({ location: link!.replaceAll('&amp;', '&') } as Answer))
  const back = await person.live.get(pathOf(out))
  const there = await person.sandbox.get(pathOf(back))
  assert.equal(there.location, `${own.home}/webhooks`)
  assert.equal((await person.sandbox.get(there.location!)).status, 200)
})

test('a code counts once, in the browser that asked for it, for half a minute', async () => {
  const person = await arrive()
  const path = await setOut(person)
  assert.equal((await person.sandbox.get(path)).location, '/account')
  const again = new Browser(house.sandboxUrl)
  again.cookies.set('countersign-sandbox-switch', 'x'.repeat(43))
  assert.ok(wasRefused(await again.get(path)))

  const late = await arrive()
  const tooLate = await setOut(late)
  house.clock.advance(30 * second)
  assert.ok(wasRefused(await late.sandbox.get(tooLate)))
  assert.equal(await isIn(late), false)
})

test('a code that was stolen opens nothing in another browser, and nothing in its own after that', async () => {
  const victim = await arrive()
  const path = await setOut(victim)
  const thief = new Browser(house.sandboxUrl)
  assert.ok(wasRefused(await thief.get(path)), 'a browser that did not ask')
  assert.ok(wasRefused(await victim.sandbox.get(path)))

  const other = await arrive()
  const stolen = await setOut(victim)
  await setOut(other)
  assert.ok(wasRefused(await other.sandbox.get(stolen)), 'a browser that asked for a code of its own')
  assert.equal(await isIn(other), false)
})

test('nobody is signed in as somebody else by a link: the code of the sender does not count in their browser', async () => {
  const attacker = await arrive()
  const sent = await setOut(attacker)
  const victim = await arrive()
  await setOut(victim)
  assert.ok(wasRefused(await victim.sandbox.get(sent)))
  assert.equal(await isIn(victim), false)
})

test('of one code presented twice at once, on two nodes, one counts', async () => {
  const person = await arrive()
  const path = await setOut(person)
  const cookies = person.sandbox.cookies
  const browsers = [house.sandboxUrl, second_.sandboxUrl, house.sandboxUrl].map((origin) => {
    const browser = new Browser(origin)
    for (const [name, value] of cookies) browser.cookies.set(name, value)
    return browser
  })
  const answers = await Promise.all(browsers.map((browser) => browser.get(path)))
  assert.equal(answers.filter(({ location }) => location === '/account').length, 1)
})

test('the code is stored as a hash, and what is stored is gone when it was used', async () => {
  const person = await arrive()
  const path = await setOut(person)
  const { code } = Object.fromEntries(new URL(path, 'http://x').searchParams)
  const rows = await ask<{ text: string }>(db, 'SELECT s::text AS text FROM site_switches s')
  assert.ok(rows.length > 0 && rows.every(({ text }) => !text.includes(code!)))
  await person.sandbox.get(path)
  assert.equal(await countRows(db, 'site_switches'), rows.length - 1)
})

test('proofs do not carry over: what takes a fresh sign-in asks for it in the sandbox', async () => {
  const own = await openPartner(house)
  const person = { user: own.user, live: own.browser, sandbox: new Browser(house.sandboxUrl) }
  await change(person)
  const csrf = await tokenOf(person.sandbox)
  const made = await person.sandbox.post(`${own.home}/clients/create`, {
    csrf,
    name: 'x',
    callback: 'https://x.example',
  })
  assert.match(made.location!, /^\/login\?return=.*&confirm=1$/)
  const confirmed = await signInWith(person.sandbox, own.user.username, { path: made.location! })
  assert.equal(confirmed.location, `${own.home}/clients`)
})

/** Each ends the live session, or its user. */
const ends: Readonly<Record<string, (person: Person) => Promise<unknown>>> = {
  'signing out': async ({ live }) => live.submit(await live.get('/account'), '/logout', {}),
  'closing it from elsewhere': async ({ user }) => {
    const other = await house.signIn(user)
    return other.submit(await other.get('/account/devices'), '/account/devices/close/others', {})
  },
  'being locked': async ({ user }) => setUserStatus(db, user, 'disabled', house.act()),
  'half an hour without the person': async () => house.clock.advance(30 * minute),
  'removing its row': async ({ user }) =>
    ask(db, `DELETE FROM sessions WHERE user_id = $1 AND environment = 'live'`, [user.id]),
}

for (const [name, end] of Object.entries(ends)) {
  test(`${name} ends the session of the sandbox with that of the live site, also before it has begun`, async () => {
    const person = await arrive()
    await change(person)
    assert.equal(await isIn(person), true)
    const half = await arrive(person.user)
    const sandbox = { ...half, live: person.live }
    const path = await setOut(sandbox)
    await end(person)
    assert.equal(await isIn(person), false)
    assert.ok(wasRefused(await sandbox.sandbox.get(path)))
  })
}

test('confirming that it is them on the live site ends nothing in the sandbox; what follows still does', async () => {
  const person = await arrive()
  await change(person)
  await signInWith(person.live, person.user.username, { path: '/login?confirm=1' })
  assert.equal(await isIn(person), true)
  await person.live.submit(await person.live.get('/account'), '/logout', {})
  assert.equal(await isIn(person), false)
})

test('confirming that it is them in the sandbox does not cut it loose from the live site', async () => {
  const person = await arrive()
  await change(person)
  await signInWith(person.sandbox, person.user.username, { path: '/login?confirm=1' })
  assert.equal(await isIn(person), true)
  await person.live.submit(await person.live.get('/account'), '/logout', {})
  assert.equal(await isIn(person), false)
})

test('whoever works in the sandbox stays signed in on the live site, for twelve hours at most', async () => {
  const person = await arrive()
  await change(person)
  for (let time = 0; time < 4; time++) {
    house.clock.advance(20 * minute)
    assert.equal(await isIn(person), true)
  }
  assert.equal((await person.live.get('/account')).status, 200)
  for (let time = 0; time < 12 * 3; time++) {
    house.clock.advance(hour / 3)
    await person.sandbox.get('/account')
  }
  assert.equal(await isIn(person), false)
})

test('signing out of the sandbox leaves the live site, and says so', async () => {
  const person = await arrive()
  await change(person)
  const out = await person.sandbox.submit(await person.sandbox.get('/account'), '/logout', {})
  assert.match((await person.sandbox.get(out.location!)).text, /you stay signed in/)
  assert.equal((await person.live.get('/account')).status, 200)
  assert.equal(await isIn(person), false)
})

test('a session of the sandbox opens none on the live site, by whatever address', async () => {
  const user = await house.makeUser()
  const sandbox = await house.signIn(user, 'sandbox')
  const live = new Browser(house.baseUrl)
  for (const [name, value] of sandbox.cookies) live.cookies.set(name, value)
  assert.equal((await live.get('/login/live')).status, 404)
  assert.equal((await live.get('/login/live/back?code=x')).status, 404)
  const asked = await live.get(`/login/sandbox?browser=${'A'.repeat(43)}`)
  assert.equal(asked.location, `${house.sandboxUrl}/login?`)
  assert.equal((await sandbox.get(`/login/sandbox?browser=${'A'.repeat(43)}`)).status, 404)
  const insert = `INSERT INTO sessions (hash, user_id, environment, created_at, first_seen_at, authenticated_at,
    last_seen_at, address, user_agent, parent_id)
    SELECT sha256('x'), user_id, $2, now(), now(), now(), now(), '::1', '', id FROM sessions WHERE user_id = $1`
  await assert.rejects(ask(db, insert, [user.id, 'live']), /sessions_of_live_in_sandbox/)
  await assert.rejects(ask(db, insert, [user.id, 'sandbox']), /sessions_of_parent/)
})

test('the way leads to pages of the sandbox and nowhere else', async () => {
  for (const target of [
    'https://evil.example',
    '//evil.example/account',
    '/\\evil.example',
    'javascript:alert(1)',
  ]) {
    const person = await arrive()
    const out = await person.sandbox.get(`/login/live?return=${encodeURIComponent(target)}`)
    assert.ok(out.location!.startsWith(`${house.baseUrl}/login/sandbox?`), out.location)
    const asked = new URL(out.location!)
    asked.searchParams.set('return', target)
    const back = await person.live.get(asked.pathname + asked.search)
    assert.ok(back.location!.startsWith(`${house.sandboxUrl}/login/live/back?`), back.location)
    const there = await person.sandbox.get(pathOf(back))
    assert.equal(there.location, '/account', target)
  }
})

test('a stranger on the live site comes to the sign-in of the sandbox, and back to the page from there', async () => {
  const stranger = { ...(await arrive()), live: new Browser(house.baseUrl) }
  const path = await setOut(stranger, '/account/api')
  assert.equal(path, '/login?return=%2Faccount%2Fapi')
  assert.match((await stranger.sandbox.get(path)).text, /Signed in on the live site\?/)
})

test('an application of the sandbox is approved by whoever is signed in on the live site', async () => {
  const client = await house.makeClient({ environment: 'sandbox' })
  const person = await arrive()
  const login = await person.sandbox.get(await startRequest(person.sandbox, client))
  const [, link] = /href="(\/login\/live\?[^"]+)"/.exec(login.text)!
  const out = await person.sandbox.get(link!.replaceAll('&amp;', '&'))
  const there = await person.sandbox.get(pathOf(await person.live.get(pathOf(out))))
  assert.match(there.location!, /^\/consent\?request=/)
  assert.match((await person.sandbox.get(there.location!)).text, /<h1>Allow/)
})

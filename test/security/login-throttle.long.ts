/** What a guesser learns, and how often a guesser may guess. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { minute, second } from '../../src/clock.ts'
import { setUserStatus } from '../../src/users/user.ts'
import { type Answer, Browser } from '../support/browser.ts'
import { openHouse, openTestGateway, password, type TestGateway } from '../support/gateway.ts'
import { guess, readTables, signInWith } from '../support/web.ts'

const house = await openHouse()
/** A gateway behind a proxy, where tests choose the address they come from. */
const street = await openHouse({ TRUST_PROXY: '127.0.0.1', LOGIN_FAILURES_PER_ADDRESS: '20' })

const from = (address: string) => ({ 'x-forwarded-for': address })

async function failTimes(times: number, username: string, at = house): Promise<void> {
  for (let time = 0; time < times; time++) assert.equal((await guess(at, username)).status, 401)
}

/** One failure from each address, all at once, each naming somebody else. */
async function failFrom(addresses: readonly string[]): Promise<void> {
  const guesses = addresses.map((address) => guess(street, `nobody-${randomUUID()}`, password, from(address)))
  assert.deepEqual(new Set((await Promise.all(guesses)).map(({ status }) => status)), new Set([401]))
}

async function makeRefusals(at = house): Promise<Record<string, { username: string; password: string }>> {
  const [wrong, waiting, disabled] = await Promise.all([at.makeUser(), at.makeUser(), at.makeUser()])
  await failTimes(5, waiting.username, at)
  await setUserStatus(at.gateway.context.db, disabled, 'disabled', at.act())
  return {
    'a wrong password': { username: wrong.username, password: 'not the right password' },
    'an unknown user': { username: 'user-0000000000', password },
    'a user who must wait': { username: waiting.username, password },
    'a disabled user': { username: disabled.username, password },
  }
}

test('an unknown user, a user who must wait and a disabled user look like a wrong password', async () => {
  const seen = Object.entries(await makeRefusals()).map(async ([kind, tried]) => {
    const answer = await guess(house, tried.username, tried.password)
    return [kind, describeAnswer(answer, tried.username)] as const
  })
  const [[, expected], ...others] = (await Promise.all(seen)) as [[string, object], ...[string, object][]]
  assert.equal((expected as Answer).status, 401)
  assert.match((expected as Answer).text, /do not match, or there were too many attempts/)
  for (const [kind, found] of others) assert.deepEqual(found, expected, kind)
})

/** All that can be seen of an answer, without what differs in any two. */
function describeAnswer({ status, headers, text }: Answer, username: string): object {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  const seen = text.replaceAll(username, 'NAME').replaceAll(/name="csrf" value="[^"]*"/g, 'CSRF')
  return { status, headers: rest, text: seen }
}

test('each of them costs as much work as a wrong password', async (t) => {
  // Passwords as dear as in production: they are what an answer could do without.
  const dear = await openTestGateway({}, undefined, {})
  t.after(() => dear.close())
  const kinds = Object.entries(await makeRefusals(dear))
  const spentMs = new Map(kinds.map(([kind]) => [kind, [] as number[]]))
  const browser = new Browser(dear.baseUrl)
  for (let round = 0; round < 5; round++) {
    for (const [kind, tried] of kinds) {
      const started = process.cpuUsage()
      await signInWith(browser, tried.username, tried)
      const { user, system } = process.cpuUsage(started)
      spentMs.get(kind)!.push((user + system) / 1000)
      if (kind === 'a wrong password') await forget(dear, tried.username)
    }
  }
  const expected = median(spentMs.get('a wrong password')!)
  for (const [kind, times] of spentMs) {
    const ratio = median(times) / expected
    assert.ok(ratio > 0.5 && ratio < 2, `${kind}: ${ratio.toFixed(2)} of the work`)
  }
})

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!
}

/** Signs in, which clears the count of failures. */
async function forget(at: TestGateway, username: string): Promise<void> {
  assert.equal((await guess(at, username, password)).status, 303)
}

test('after five failures the right password is refused too, for a wait that doubles up to 15 minutes', async () => {
  const { username } = await house.makeUser()
  await failTimes(5, username)
  for (const wait of [30 * second, minute, 2 * minute, 4 * minute, 8 * minute, 15 * minute, 15 * minute]) {
    house.clock.advance(wait - second)
    assert.equal(
      (await guess(house, username, password)).status,
      401,
      `still waiting after ${wait - second} ms`,
    )
    house.clock.advance(second)
    assert.equal((await guess(house, username)).status, 401)
  }
  house.clock.advance(15 * minute)
  assert.equal((await guess(house, username, password)).status, 303)
})

test('four failures, or failures that 15 minutes lie between, make nobody wait', async () => {
  const { username } = await house.makeUser()
  await failTimes(4, username)
  assert.equal((await guess(house, username, password)).status, 303)
  await failTimes(4, username)
  house.clock.advance(15 * minute)
  await failTimes(4, username)
  assert.equal((await guess(house, username, password)).status, 303)
})

test('a name in other letters is the same user', async () => {
  const { username } = await house.makeUser()
  for (const name of [username, username.toUpperCase(), username, username.toUpperCase(), username]) {
    assert.equal((await guess(house, name)).status, 401)
  }
  assert.equal((await guess(house, username, password)).status, 401)
})

test('of 100 parallel guesses at a user five are looked at, and the sixth would have waited', async () => {
  const user = await house.makeUser()
  const answers = await Promise.all(Array.from({ length: 100 }, () => guess(house, user.username)))
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([401]))
  const entries = await findEntries(house.gateway.context.db, {
    subject: `user:${user.id}`,
    action: 'session',
  })
  assert.deepEqual(entries.map((entry) => entry.action).sort(), [
    ...Array.from({ length: 4 }, () => 'session.refused'),
    'session.throttled',
  ])
  assert.equal((await guess(house, user.username, password)).status, 401)
  house.clock.advance(30 * second)
  assert.equal((await guess(house, user.username, password)).status, 303)
})

test('an attacker elsewhere cannot lock a user out of a device they have used before', async () => {
  const user = await house.makeUser()
  const known = await house.signIn(user)
  await failTimes(6, user.username)
  assert.equal((await guess(house, user.username, password)).status, 401, 'a new device must wait')
  assert.equal((await signInWith(known, user.username, { path: '/login?confirm=1' })).status, 303)
})

test('a known device has five guesses of its own, and is known for its own user only', async () => {
  const [user, other] = await Promise.all([house.makeUser(), house.makeUser()])
  const known = await house.signIn(user)
  await failTimes(5, other.username)
  const path = '/login?confirm=1'
  assert.equal(
    (await signInWith(known, other.username, { path })).status,
    401,
    'not known for the other user',
  )
  for (let time = 0; time < 5; time++) {
    assert.equal(
      (await signInWith(known, user.username, { path, password: 'not the right password' })).status,
      401,
    )
  }
  assert.equal((await signInWith(known, user.username, { path })).status, 401)
  assert.equal((await guess(house, user.username, password)).status, 303, 'other devices do not wait for it')
})

test('a device cookie that was not made here proves nothing', async () => {
  const user = await house.makeUser()
  const known = await house.signIn(user)
  const name = 'countersign-live-device'
  const real = known.cookies.get(name)!
  await failTimes(5, user.username)
  const changed = `${real.startsWith('A') ? 'B' : 'A'}${real.slice(1)}`
  for (const forged of ['', 'x', `${user.username}\nanything`, changed, real.slice(0, -4)]) {
    const browser = new Browser(house.baseUrl)
    browser.cookies.set(name, encodeURIComponent(forged))
    assert.equal((await signInWith(browser, user.username)).status, 401, forged)
  }
})

test('after 20 failures an address is told to wait, whoever it names next, and others are not', async () => {
  const user = await street.makeUser()
  const here = from('203.0.113.7')
  await failFrom(Array.from({ length: 20 }, () => '203.0.113.7'))
  for (const username of [user.username, 'nobody-21']) {
    const answer = await guess(street, username, password, here)
    assert.equal(answer.status, 429)
    assert.equal(answer.headers['retry-after'], '30')
    assert.doesNotMatch(answer.text, new RegExp(username))
  }
  assert.equal((await guess(street, user.username, password, from('203.0.113.8'))).status, 303)
  street.clock.advance(30 * second)
  assert.equal((await guess(street, 'nobody-22', password, here)).status, 401)
  assert.equal((await guess(street, 'nobody-23', password, here)).headers['retry-after'], '60')
  street.clock.advance(minute)
  assert.equal((await guess(street, user.username, password, here)).status, 303)
})

test('of 100 parallel guesses from one address at 100 users twenty are looked at', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `sprayed-${index}`)
  const answers = await Promise.all(names.map((name) => guess(street, name, password, from('198.51.100.9'))))
  assert.equal(answers.filter(({ status }) => status === 401).length, 20)
  assert.equal(answers.filter(({ status }) => status === 429).length, 80)
})

test('the addresses of one IPv6 /64 count as one, however they are written', async () => {
  const written = (index: number) =>
    [
      `2001:db8::${index}`,
      `2001:0db8:0:0:${index}::`,
      `2001:DB8:0:0::${index}`,
      `2001:db8:0:0:0:0:0:${index}`,
    ][index % 4]!
  await failFrom(Array.from({ length: 20 }, (_, index) => written(index)))
  assert.equal((await guess(street, 'six-21', password, from('2001:db8::21'))).status, 429)
  assert.equal((await guess(street, 'six-22', password, from('2001:db8:0:1::21'))).status, 401, 'another /64')
})

test('a /56 of IPv6 has four times what a /64 has, and a /48 sixteen times: the rest of the world signs in', async () => {
  const own = await openTestGateway({ TRUST_PROXY: '127.0.0.1', LOGIN_FAILURES_PER_ADDRESS: '2' })
  try {
    const guessFrom = async (address: string) =>
      (await guess(own, `nobody-${randomUUID()}`, password, from(address))).status
    const count = async (addresses: readonly string[]) => {
      const answers: number[] = []
      for (const address of addresses) answers.push(await guessFrom(address))
      return answers.filter((status) => status === 401).length
    }
    const hex = (index: number) => index.toString(16)
    assert.equal(
      await count(Array.from({ length: 12 }, (_, index) => `2001:db8:7:a${hex(16 + index)}::1`)),
      8,
      'of one /56',
    )
    const elsewhere = Array.from({ length: 40 }, (_, index) => `2001:db8:7:${hex(16 + index)}00::1`)
    assert.equal(await count(elsewhere), 24, 'of the /48, which has had 8')
    const user = await own.makeUser()
    assert.equal((await guess(own, user.username, password, from('2001:db8:7:ffff::1'))).status, 429)
    assert.equal(
      (await guess(own, user.username, password, from('2001:db8:8::1'))).status,
      303,
      'another /48',
    )
  } finally {
    await own.close()
  }
})

test('a known device is let in from a network in which others fail', async () => {
  const own = await openTestGateway({ TRUST_PROXY: '127.0.0.1', LOGIN_FAILURES_PER_ADDRESS: '1' })
  try {
    const user = await own.makeUser()
    const home = from('2001:db8:9:1::1')
    const browser = new Browser(own.baseUrl)
    assert.equal((await signInWith(browser, user.username, { headers: home })).status, 303)
    for (let index = 2; index < 20; index++)
      await guess(own, 'nobody', password, from(`2001:db8:9:${index.toString(16)}00::1`))
    assert.equal(
      (await guess(own, user.username, password, from('2001:db8:9:2::1'))).status,
      429,
      'a stranger',
    )
    const again = { headers: home, path: '/login?confirm=1' }
    assert.equal((await signInWith(browser, user.username, again)).status, 303)
  } finally {
    await own.close()
  }
})

test('an IPv4 address counts as itself when it arrives in IPv6 dress', async () => {
  await failFrom(Array.from({ length: 20 }, (_, index) => (index % 2 ? '192.0.2.77' : '::ffff:192.0.2.77')))
  assert.equal((await guess(street, 'four-21', password, from('192.0.2.77'))).status, 429)
})

test('people of one office who sign in at the same time are not failures', async () => {
  const office = from('192.0.2.200')
  const users = await Promise.all(Array.from({ length: 12 }, () => street.makeUser()))
  for (let morning = 0; morning < 3; morning++) {
    const answers = await Promise.all(users.map(({ username }) => guess(street, username, password, office)))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([303]), `morning ${morning + 1}`)
  }
})

test('what is typed into the username field is kept nowhere when no such user exists', async () => {
  const typed = 'a-password-in-the-wrong-field'
  assert.equal((await guess(house, typed)).status, 401)
  const holding = Object.entries(await readTables(house.gateway.context.db))
    .filter(([, rows]) => rows.some((row) => row.includes(typed)))
    .map(([table]) => table)
  assert.deepEqual(holding, [])
})

test('no bytes in the username break the sign-in', async () => {
  for (const username of ['', '\0', 'a\0b', '\u{1f600}', '%', "'; --", 'x'.repeat(5_000), '\ufffd']) {
    const { status } = await guess(house, username)
    assert.ok(status === 401 || status === 400, `${JSON.stringify(username.slice(0, 10))}: ${status}`)
  }
})

/** How passwords are kept, and what checking them may cost. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hash } from '@node-rs/argon2'
import { findEntries } from '../../src/audit/audit.ts'
import type { Sql } from '../../src/database/database.ts'
import { openLog } from '../../src/http/log.ts'
import type { Trust } from '../../src/users/password.ts'
import { setPassword, setUserStatus, type User } from '../../src/users/user.ts'
import { ask } from '../support/ask.ts'
import { runBehind } from '../support/behind.ts'
import { Browser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse, openTestGateway, password } from '../support/gateway.ts'
import { guess, signInWith } from '../support/web.ts'

const house = await openHouse({}, undefined, {})

const argon2id = 2
const olderCost = { algorithm: argon2id, memoryCost: 4096, timeCost: 1, parallelism: 1 }
const owaspFloor = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/

async function readHash({ id }: User): Promise<string> {
  const select = 'SELECT password_hash FROM users WHERE id = $1'
  return (await ask<{ password_hash: string }>(house.gateway.context.db, select, [id]))[0]!.password_hash
}

async function writeHash({ id }: User, stored: string): Promise<void> {
  const update = 'UPDATE users SET password_hash = $2 WHERE id = $1'
  await ask(house.gateway.context.db, update, [id, stored])
}

test('a password is stored as argon2id with 19 MiB, two passes and one lane', async () => {
  assert.match(await readHash(await house.makeUser()), owaspFloor)
})

test('a hash of an older cost still signs in, and is replaced when it does', async () => {
  const user = await house.makeUser()
  await writeHash(user, await hash(password, olderCost))
  assert.equal((await guess(house, user.username)).status, 401)
  assert.doesNotMatch(await readHash(user), owaspFloor, 'a wrong password replaces nothing')
  assert.equal((await guess(house, user.username, password)).status, 303)
  assert.match(await readHash(user), owaspFloor)
  assert.equal((await guess(house, user.username, password)).status, 303)
})

test('whoever is locked, or gets another password, while theirs is checked is refused like for a wrong one', async () => {
  const { db, passwords } = house.gateway.context
  const changes: ((db: Sql, user: User) => Promise<void>)[] = [
    (sql, user) => setPassword(sql, passwords, user, 'another password of theirs', house.act()),
    (sql, user) => setUserStatus(sql, user, 'disabled', house.act()),
  ]
  for (const isOutdated of [false, true])
    for (const change of changes) {
      const user = await house.makeUser()
      if (isOutdated) await writeHash(user, await hash(password, olderCost))
      const [, late] = await runBehind(
        db,
        (first) => change(first, user),
        () => guess(house, user.username, password),
      )
      assert.equal(late.status === 'fulfilled' && late.value.status, 401, `${isOutdated} ${change}`)
      assert.equal(
        (await findEntries(db, { action: 'session.refused', subject: `user:${user.id}` })).length,
        1,
      )
      assert.equal(
        (await findEntries(db, { action: 'session.opened', subject: `user:${user.id}` })).length,
        0,
      )
    }
})

test('a password of 1,024 bytes signs in and one of 1,025 never does', async () => {
  const user = await house.makeUser()
  const { db, passwords } = house.gateway.context
  const longest = `${'ä'.repeat(511)}ab`
  await setPassword(db, passwords, user, longest, house.act())
  assert.equal((await guess(house, user.username, longest)).status, 303)
  await assert.rejects(setPassword(db, passwords, user, `${longest}c`, house.act()), /at most 1024 bytes/)
  await writeHash(user, await passwords.hash(`${longest}c`))
  assert.equal((await guess(house, user.username, `${longest}c`)).status, 401)
})

test('a password needs 12 characters', async () => {
  const user = await house.makeUser()
  const { db, passwords } = house.gateway.context
  await assert.rejects(setPassword(db, passwords, user, 'x'.repeat(11), house.act()), /at least 12/)
  assert.equal((await guess(house, user.username, password)).status, 303, 'the old one still works')
})

test('a flood of sign-ins does not hold up the token endpoint', async () => {
  const client = await house.makeClient()
  const code = await house.makeCode(client)
  let answered = 0
  const flood = Array.from({ length: 40 }, (_, index) =>
    guess(house, `flood-${index}`).finally(() => answered++),
  )
  await Promise.race(flood)
  assert.equal((await house.exchange(client, code)).status, 200)
  assert.ok(answered < 30, `${answered} of 40 sign-ins were answered before the exchange`)
  await Promise.all(flood)
})

/**
 * Keeps the queue of password checks full until released: whoever leaves it comes back before anybody else
 * can.
 */
async function crowdPasswords<Result>(during: () => Promise<Result>): Promise<Result> {
  const { passwords } = house.gateway.context
  let crowded = true
  const stay = async () => {
    while (crowded) await passwords.hash('waiting in the queue').catch(() => {})
  }
  const visitors = Array.from({ length: 102 }, stay)
  try {
    return await during()
  } finally {
    crowded = false
    await Promise.all(visitors)
  }
}

/** Checks that wait until they are let go: a queue with so many of this trust in it. */
async function occupy(count: number, trust: Trust): Promise<() => Promise<unknown>> {
  const { passwords } = house.gateway.context
  const stored = await hash(password, { ...olderCost, memoryCost: 64 * 1024, timeCost: 4 })
  let isOver = false
  const stay = async () => {
    while (!isOver) await passwords.verify(stored, 'a guess', trust).catch(() => new Promise(setImmediate))
  }
  const all = Array.from({ length: count }, stay)
  await eventually('the queue is as full as it gets', () => passwords.isCrowded(trust))
  return () => {
    isOver = true
    return Promise.all(all)
  }
}

test('guesses from where others failed leave places for addresses without a failure, and all of those for known devices', async () => {
  const { passwords } = house.gateway.context
  for (const [flood, left] of [
    ['failing', ['unknown', 'known']],
    ['unknown', ['known']],
  ] as const) {
    const release = await occupy(120, flood)
    try {
      for (const trust of left) assert.equal(passwords.isCrowded(trust), false, `${trust} during ${flood}`)
    } finally {
      await release()
    }
  }
})

test('while a network floods the sign-in, others sign in, and it is told by one line without a stack', async () => {
  const lines: string[] = []
  const log = openLog('warn', { write: (line) => void lines.push(line) })
  const street = await openTestGateway(
    { TRUST_PROXY: '127.0.0.1', LOGIN_FAILURES_PER_ADDRESS: '1000' },
    log,
    {},
  )
  try {
    const [user, other] = await Promise.all([street.makeUser(), street.makeUser()])
    const home = { headers: { 'x-forwarded-for': '198.51.100.7' } }
    const known = new Browser(street.baseUrl)
    assert.equal((await signInWith(known, user.username, home)).status, 303)
    const flooding = (index: number) => ({ 'x-forwarded-for': `2001:db8:5:${index.toString(16)}::1` })
    assert.equal((await guess(street, 'first', 'a guess', flooding(0))).status, 401)
    const flood = Array.from({ length: 150 }, (_, index) =>
      guess(street, `one-${index}`, 'a guess', flooding(index + 1)),
    )
    await eventually('the flood is turned away', () => street.gateway.context.passwords.isCrowded('failing'))
    const [again, first] = await Promise.all([
      signInWith(known, user.username, { ...home, path: '/login?confirm=1' }),
      guess(street, other.username, password, { 'x-forwarded-for': '203.0.113.99' }),
    ])
    assert.deepEqual([again.status, first.status], [303, 303])
    const answers = (await Promise.all(flood)).map(({ status }) => status)
    assert.ok(answers.includes(503), 'some of the flood were turned away')
    assert.equal(lines.filter((line) => line.includes('requests were turned away')).length, 1)
    assert.ok(!lines.some((line) => line.includes('"stack"')), lines.join(''))
  } finally {
    await street.close()
  }
})

test('a sign-in that finds too many waiting is sent away with 503 and Retry-After, and is no failure', async () => {
  const { username } = await house.makeUser()
  await crowdPasswords(async () => {
    for (let time = 0; time < 6; time++) {
      const answer = await guess(house, username, password)
      assert.equal(answer.status, 503)
      assert.match(String(answer.headers['retry-after']), /^\d+$/)
    }
  })
  assert.equal(
    (await guess(house, username, password)).status,
    303,
    'a password that nobody checked was not wrong',
  )
})

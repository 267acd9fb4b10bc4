/** Checklist L6: how passwords are kept, and what checking them may cost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hash } from '@node-rs/argon2'
import { findEntries } from '../../src/audit/audit.ts'
import { type Database, statement } from '../../src/database/database.ts'
import { setPassword, setUserStatus, type User } from '../../src/users/user.ts'
import { runBehind } from '../support/behind.ts'
import { openHouse, password } from '../support/gateway.ts'
import { guess } from '../support/web.ts'

const house = await openHouse({}, undefined, {})

const argon2id = 2
const olderCost = { algorithm: argon2id, memoryCost: 4096, timeCost: 1, parallelism: 1 }
const owaspFloor = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/

async function readHash({ id }: User): Promise<string> {
  const select = statement('', 'SELECT password_hash FROM users WHERE id = $1')
  return (await house.gateway.context.db.query<{ password_hash: string }>(select, [id]))[0]!.password_hash
}

async function writeHash({ id }: User, stored: string): Promise<void> {
  const update = statement('', 'UPDATE users SET password_hash = $2 WHERE id = $1')
  await house.gateway.context.db.query(update, [id, stored])
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
  const changes: ((db: Database, user: User) => Promise<void>)[] = [
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
      assert.equal((await findEntries(db, { action: 'session.refused', subject: `user:${user.id}` })).length, 1)
      assert.equal((await findEntries(db, { action: 'session.opened', subject: `user:${user.id}` })).length, 0)
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
  const flood = Array.from({ length: 40 }, (_, index) => guess(house, `flood-${index}`).finally(() => answered++))
  await Promise.race(flood)
  assert.equal((await house.exchange(client, code)).status, 200)
  assert.ok(answered < 30, `${answered} of 40 sign-ins were answered before the exchange`)
  await Promise.all(flood)
})

/** Keeps the queue of password checks full until released: whoever leaves it comes back before anybody else can. */
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

test('a sign-in that finds too many waiting is sent away with 503 and Retry-After, and is no failure', async () => {
  const { username } = await house.makeUser()
  await crowdPasswords(async () => {
    for (let time = 0; time < 6; time++) {
      const answer = await guess(house, username, password)
      assert.equal(answer.status, 503)
      assert.match(String(answer.headers['retry-after']), /^\d+$/)
    }
  })
  assert.equal((await guess(house, username, password)).status, 303, 'a password that nobody checked was not wrong')
})

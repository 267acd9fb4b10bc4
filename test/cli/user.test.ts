import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { test } from 'node:test'
import { verify } from '@node-rs/argon2'
import { findEntries } from '../../src/audit/audit.ts'
import { openPrinter } from '../../src/cli/printer.ts'
import { ask } from '../support/ask.ts'

import { keepOpen } from '../support/keep-open.ts'
import { secretFile } from '../support/process.ts'
import { openCommandLine, parseRecord, parseTable } from './command-line.ts'

const line = await keepOpen(openCommandLine())
const made = (
  await line.runApart('user', 'create', '--username', 'Ada', '--name', 'Ada Holder', '--json')
).json()
assert.deepEqual(made, { ...made, username: 'ada', name: 'Ada Holder', role: 'holder', status: 'active' })
const { password, id } = made as Record<string, string> as { password: string; id: string }

const storedHash = async () => {
  const [row] = await ask<{ password_hash: string }>(
    line.db,
    "SELECT password_hash FROM users WHERE username = 'ada'",
  )
  return row!.password_hash
}

test('a generated password is shown once, works, and is never shown again', async () => {
  assert.match(password, /^[A-Za-z0-9]{20}$/)
  assert.ok(await verify(await storedHash(), password))
  const [shown, listed] = await Promise.all([
    line.runApart('user', 'show', 'ada'),
    line.run('user', 'list', '--json'),
  ])
  assert.ok(!shown.stdout.includes(password) && !listed.stdout.includes(password))
  assert.doesNotMatch(listed.stdout, /argon2|password/)
})

test('a password that was given is not repeated', async () => {
  const words = [
    '--username',
    'olga',
    '--name',
    'Olga',
    '--operator',
    '--password-file',
    secretFile('a password of my own'),
  ]
  const { stdout, code } = await line.run('user', 'create', ...words)
  assert.equal(code, 0)
  assert.equal(parseRecord(stdout).role, 'operator')
  assert.doesNotMatch(stdout, /password/)
})

test('users are listed and shown, for people and for programs, by name and by id', async () => {
  const account = ['--number', '6ya00001', '--type', 'margin', '--option-level', '3', '--day-trader']
  assert.deepEqual(await line.read('user', 'account', 'ada', ...account), {
    ...{ username: 'ada', account_number: '6YA00001', environment: 'live', classification: 'individual' },
    ...{ day_trader: true, option_level: 3, type: 'margin' },
  })
  const [table, byName, byId] = await Promise.all([
    line.run('user', 'list'),
    line.run('user', 'show', 'ada'),
    line.read('user', 'show', id),
  ])
  assert.ok(
    parseTable(table.stdout).some(
      (row) => row.username === 'ada' && row.id === id && row.status === 'active',
    ),
  )
  assert.equal(parseRecord(byName.stdout).accounts, '6YA00001')
  assert.deepEqual(byId.accounts, ['6YA00001'])
  const names = ['id', 'username', 'name', 'role', 'status', 'locked_by', 'test_holder_of', 'created_at']
  assert.deepEqual(Object.keys(byId), [...names, 'email', 'accounts'])
  for (const user of await line.read<object[]>('user', 'list')) assert.deepEqual(Object.keys(user), names)
})

test('however many users there are, they are printed as they are read, for people and for programs', async () => {
  const people = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => ({
      username: `user-${from + n}`,
      name: 'N'.repeat((from + n) % 40),
    }))
  async function* pages(count: number, size: number) {
    for (let from = 0; from < count; from += size) yield people(from, Math.min(count, from + size))
  }
  const print = async (json: boolean, count: number) => {
    let [text, most] = ['', 0]
    const out = {
      write(piece: string) {
        text += piece
        most = Math.max(most, piece.length)
        return true
      },
    } as unknown as NodeJS.WriteStream
    await openPrinter(json, out).pages(pages(count, 1_000), 'There are no users.')
    return { text, most }
  }
  for (const count of [0, 1, 1_000, 1_001]) {
    const { text } = await print(true, count)
    assert.equal(text, `${JSON.stringify(people(0, count), null, 2)}\n`)
  }
  assert.equal((await print(false, 0)).text, 'There are no users.\n')
  const { text, most } = await print(false, 250_000)
  assert.equal(text.split('\n').length, 250_002)
  assert.ok(most < 200_000, 'no more than a page at a time')
  let whole = ''
  const out = { write: (piece: string) => (whole += piece) } as unknown as NodeJS.WriteStream
  openPrinter(false, out).table(people(0, 250_000), '')
  assert.equal(whole.split('\n').length, 250_002, 'nor does a table that is in memory end in a call stack')
})

test('a new password replaces the old one, and disabling and enabling take effect', async () => {
  const changed = await line.read('user', 'password', 'ada')
  assert.ok(!(await verify(await storedHash(), password)))
  assert.ok(await verify(await storedHash(), String(changed.password)))
  assert.deepEqual(await line.read('user', 'disable', 'ada'), { username: 'ada', status: 'disabled' })
  assert.equal((await line.read('user', 'show', 'ada')).status, 'disabled')
  assert.deepEqual(await line.read('user', 'enable', 'ada'), { username: 'ada', status: 'active' })
})

test('what cannot be is refused with code 1 and a sentence that names the field, and changes nothing', async () => {
  const create = ['user', 'create', '--username']
  const account = ['user', 'account', 'ada', '--number']
  const cases: [string[], string][] = [
    [[...create, 'ada', '--name', 'Second'], 'username is taken.\n'],
    [[...create, 'a b', '--name', 'X'], 'username must be 1 to 100 letters, digits or any of . _ @ + -.\n'],
    [
      [...create, 'bo', '--name', 'Bo', '--password-file', secretFile('short')],
      'password must have at least 12 characters.\n',
    ],
    [['user', 'show', 'nobody'], 'There is no user "nobody".\n'],
    [[...account, '6YA00001'], 'account_number is taken.\n'],
    [[...account, 'a!'], 'number must be 4 to 20 letters and digits.\n'],
    [[...account, '6YA00002', '--type', 'credit'], 'type must be cash or margin.\n'],
    [[...account, '6YA00002', '--option-level', '7'], 'option-level must be 1 to 6.\n'],
    [[...account, '6YA00002', '--environment', 'test'], 'environment must be live or sandbox.\n'],
  ]
  const done = await Promise.all(cases.map(([words]) => line.fail(...words)))
  assert.deepEqual(
    done,
    cases.map(([, stderr]) => ({ code: 1, stderr })),
  )
  const { length } = await line.read<unknown[]>('user', 'list')
  assert.equal(length, 2)
})

test('mistakes are found before the database has to find them', async () => {
  const cases = [
    ['user', 'create', '--username', 'bo', '--name', ''],
    ['user', 'create', '--username', 'bo', '--name', 'x'.repeat(201)],
    ['user', 'account', 'ada', '--number', '6YA00003', '--option-level', '1.5'],
  ]
  const done = await Promise.all(cases.map((words) => line.fail(...words)))
  for (const { code, stderr } of done) {
    assert.equal(code, 1)
    assert.match(stderr, /^(name|option-level) must [^\n]+\.\n$/)
    assert.doesNotMatch(stderr, /relation|constraint|syntax/, 'no words of SQL')
  }
})

test('what was done is recorded under the name of the person at the terminal', async () => {
  const entries = await findEntries(line.db, { action: 'user.created', subject: `user:${id}` })
  assert.deepEqual(
    entries.map((entry) => entry.actor),
    [`operator:${userInfo().username}`],
  )
})

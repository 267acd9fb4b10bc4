/** What takes two people in the console is done by one on the machine, and heard. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { scopesOfNewClients } from '../../src/partners/client.ts'
import { setEmail } from '../../src/users/email.ts'
import { getUserNamed } from '../../src/users/user.ts'
import { scopes } from '../../src/vocabulary/scope.ts'
import { ask } from '../support/ask.ts'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openCommandLineAt } from './command-line.ts'

const database = await keepOpen(openTestDatabase())
const settings = { DATABASE_URL: database.url, SECRET_KEY: 'ab'.repeat(32), AUDIT_ANCHOR_FILE: 'off' }
const quiet = await keepOpen(openCommandLineAt(settings))
const line = await keepOpen(openCommandLineAt({ ...settings, FOUR_EYES: 'all' }))
const { db } = line
const act = { by: { name: 'operator:test' }, at: new Date() }

for (const [username, role] of [
  ['olga', 'administrator'],
  ['sam', 'support'],
] as const) {
  await line.run('user', 'create', '--username', username, '--name', username, '--operator', '--role', role)
  await setEmail(db, await getUserNamed(db, username), `${username}@broker.example`, act)
}
await line.run('user', 'create', '--username', 'alice', '--name', 'Alice')

const bypassed = () => findEntries(db, { action: 'proposal.bypassed' })

/** What each does, by the kind that it bypasses. */
const commands: readonly (readonly [kind: string, words: readonly string[]])[] = [
  ['partner.approve', ['partner', 'approve', 'Quant']],
  ['partner.refresh-access', ['partner', 'grant-refresh', 'Quant']],
  ['user.reset-two-factor', ['user', 'reset-second-factor', 'alice']],
  ['keys.rotate', ['keys', 'rotate']],
]

test('a command that does alone what takes two people is recorded, says so, and is told to those who watch over staff', async () => {
  await quiet.run('partner', 'create', '--name', 'Quant')
  for (const [kind, words] of commands) {
    const done = await line.run(...words)
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stdout, /In the console this takes two people \(FOUR_EYES\)\. You do it alone/, kind)
    const [entry] = await bypassed()
    assert.equal(entry!.details.kind, kind)
    assert.match(entry!.actor, /^operator:/)
  }
  const text = `SELECT u.username, n.facts ->> 'kind' AS kind FROM notices n JOIN users u ON u.id = n.user_id
    WHERE n.kind = 'break-glass' ORDER BY n.id`
  const told = await ask<{ username: string; kind: string }>(db, text)
  assert.deepEqual(
    told.map(({ username, kind }) => `${username}: ${kind}`),
    commands.map(([kind]) => `olga: ${kind}`),
  )
})

test('what was tried alone and could not be done is heard of as well', async () => {
  assert.notEqual((await line.run('import', 'allow', '999')).code, 0)
  const [entry] = await bypassed()
  assert.deepEqual([entry!.details.kind, entry!.subject], ['import.removal', 'import:999'])
})

test('wider scopes are heard of, narrower ones are not', async () => {
  const { id: client } = await quiet.read(
    'client',
    'create',
    '--partner',
    'Quant',
    '--name',
    'Pal',
    '--callback',
    'https://app.example.com/cb',
    '--scope',
    'read',
  )
  const before = (await bypassed()).length
  const wider = await line.run('client', 'update', String(client), '--scope', 'read trade')
  assert.equal(wider.code, 0, wider.stderr)
  assert.equal((await bypassed()).length, before + 1)
  await line.run('client', 'update', String(client), '--scope', 'read')
  assert.equal((await bypassed()).length, before + 1)
})

test('a client that may ask for more than new clients get is heard of, another is not', async () => {
  const before = (await bypassed()).length
  const create = (scope: string, environment: string) => {
    const words = ['--partner', 'Quant', '--name', 'Pal', '--callback', 'https://app.example.com/cb']
    return line.run('client', 'create', ...words, '--scope', scope, '--environment', environment)
  }
  for (const environment of ['live', 'sandbox'] as const) {
    const done = await create(scopesOfNewClients[environment].join(' '), environment)
    assert.equal(done.code, 0, done.stderr)
  }
  assert.equal((await bypassed()).length, before)
  const wider = await create(scopes.join(' '), 'live')
  assert.equal(wider.code, 0, wider.stderr)
  assert.match(wider.stdout, /You do it alone/)
  assert.deepEqual(
    (await bypassed()).slice(0, (await bypassed()).length - before).map(({ details }) => details.kind),
    ['partner.widen-scopes'],
  )
})

test('a client of the live site that goes back to the standard is heard of; a plan, and the sandbox, are not', async () => {
  const create = (environment: string) => {
    const words = ['--partner', 'Quant', '--name', 'Bound', '--callback', 'https://app.example.com/cb']
    return quiet.read('client', 'create', ...words, '--scope', 'read', '--environment', environment)
  }
  const profile = async (id: string, ...words: string[]) => {
    const done = await line.run('client', 'profile', id, '--profile', ...words)
    assert.equal(done.code, 0, done.stderr)
  }
  const before = (await bypassed()).length
  const heard = async () => (await bypassed()).length - before
  for (const [environment, expected] of [
    ['sandbox', 0],
    ['live', 1],
  ] as const) {
    const id = String((await create(environment)).id)
    await ask(db, "UPDATE clients SET jwks_uri = 'https://app.example.com/jwks' WHERE id = $1", [id])
    await profile(id, 'fapi2', '--from', '2999-01-01')
    await profile(id, 'standard')
    await profile(id, 'fapi2')
    assert.equal(await heard(), 0)
    await profile(id, 'standard')
    assert.equal(await heard(), expected, environment)
  }
  assert.equal((await bypassed())[0]!.details.kind, 'client.lower-profile')
})

test('where one person is enough nothing is said', async () => {
  const before = (await bypassed()).length
  const done = await quiet.run('partner', 'create', '--name', 'Second', '--approve', '--refresh')
  assert.equal(done.code, 0, done.stderr)
  assert.doesNotMatch(done.stdout, /two people/)
  assert.equal((await bypassed()).length, before)
})

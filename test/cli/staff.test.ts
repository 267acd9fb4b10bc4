import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { getProvider } from '../../src/identity/provider.ts'
import { setProvidedRoles } from '../../src/users/staff-role.ts'
import { getUserNamed } from '../../src/users/user.ts'
import { newFolder } from '../support/folder.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openCommandLine } from './command-line.ts'

const line = await keepOpen(openCommandLine())
const create = (username: string, ...more: string[]) =>
  line.run('user', 'create', '--username', username, '--name', username, ...more)
const rolesOf = async (username: string) => {
  const listed = await line.read<{ username: string; roles: string[] }[]>('staff', 'list')
  return listed.find((each) => each.username === username)?.roles
}
await create('olga', '--operator')
await create('sam', '--operator', '--role', 'support', '--role', 'viewer')
await create('alice')

test('an operator is made an administrator, or gets the roles that are named', async () => {
  assert.deepEqual(await rolesOf('olga'), ['administrator'])
  assert.deepEqual(await rolesOf('sam'), ['support', 'viewer'])
  assert.equal(await rolesOf('alice'), undefined)
  const refused = await create('bob', '--role', 'viewer')
  assert.match(refused.stderr, /Only an operator has roles: add --operator\./)
})

test('roles are given and taken, and the last administrator keeps theirs', async () => {
  const given = await line.read('staff', 'give', 'sam', '--role', 'auditor', '--reason', 'The yearly audit.')
  assert.deepEqual(given.roles, ['auditor', 'support', 'viewer'])
  await line.run('staff', 'take', 'sam', '--role', 'viewer')
  assert.deepEqual(await rolesOf('sam'), ['auditor', 'support'])
  const refused = await line.run('staff', 'take', 'olga', '--role', 'administrator')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /This is the last administrator\. Make somebody else an administrator first\./)
})

test('a role that a provider gave is listed with the name of the provider', async () => {
  const secret = join(newFolder('staff-commands'), 'secret')
  writeFileSync(secret, 'hunter2')
  await line.run(
    ...[
      'provider',
      'add',
      'sso',
      '--kind',
      'staff',
      '--label',
      'Staff ID',
      '--issuer',
      'https://sso.example.com',
    ],
    ...[
      '--client-id',
      'countersign',
      '--secret-file',
      secret,
      '--roles-claim',
      'groups',
      '--role',
      'help=support',
    ],
  )
  const provider = await getProvider(line.db, 'sso')
  const { id } = await getUserNamed(line.db, 'olga')
  const act = { by: { name: 'operator:test' }, at: new Date() }
  await line.db.transaction((sql) => setProvidedRoles(sql, id, provider, ['support'], act))
  assert.deepEqual(await rolesOf('olga'), ['administrator', 'support (provider:sso)'])
})

test('what cannot be is refused with a sentence', async () => {
  const wrong = await line.run('staff', 'give', 'sam', '--role', 'king')
  assert.match(wrong.stderr, /role must be one of viewer, support/)
  const holder = await line.run('staff', 'give', 'alice', '--role', 'viewer')
  assert.match(holder.stderr, /There is nobody of the staff with this id\./)
})

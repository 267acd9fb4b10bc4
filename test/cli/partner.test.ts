import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepOpen } from '../support/keep-open.ts'
import { openCommandLine, parseRecord, parseTable } from './command-line.ts'

const line = await keepOpen(openCommandLine())
const words = ['--name', 'Quant Desk', '--approve', '--refresh', '--json']
const quant = (await line.runApart('partner', 'create', ...words)).json()
assert.deepEqual(quant, {
  ...quant,
  branch_id: 1,
  name: 'Quant Desk',
  status: 'approved',
  refresh_access: true,
})

test('programs read a partner by these names, in this order', async () => {
  const names = 'branch_id name status status_reason refresh_access created_at'
  const listed = JSON.parse((await line.run('partner', 'list', '--json')).stdout) as object[]
  for (const record of [await line.read('partner', 'grant-refresh', '1'), listed[0]!])
    assert.equal(Object.keys(record).join(' '), names)
  assert.equal(Object.keys(await line.read('partner', 'show', '1')).join(' '), `${names} members`)
})

test('a partner has only applied unless it is approved at once', async () => {
  const { stdout } = await line.run('partner', 'create', '--name', 'Newcomer')
  const record = parseRecord(stdout)
  assert.deepEqual([record.status, record.refresh_access, record.status_reason], ['applied', 'false', '-'])
  assert.equal((await line.read('partner', 'approve', 'Newcomer')).status, 'approved')
})

test('a suspension needs a reason, shows it, and ends with an approval', async () => {
  const suspended = await line.read('partner', 'suspend', '1', '--reason', 'unpaid')
  assert.deepEqual([suspended.status, suspended.status_reason], ['suspended', 'unpaid'])
  const table = parseTable((await line.run('partner', 'list')).stdout)
  assert.equal(table.find((row) => row.name === 'Quant Desk')?.status, 'suspended')
  const approved = await line.read('partner', 'approve', 'Quant Desk')
  assert.deepEqual([approved.status, approved.status_reason], ['approved', null])
})

test('an application is declined with a reason, which stands among the messages of both sides', async () => {
  await line.run('partner', 'create', '--name', 'Hopeful')
  const declined = await line.read('partner', 'decline', 'Hopeful', '--reason', 'Say more about your users')
  assert.deepEqual([declined.status, declined.status_reason], ['declined', 'Say more about your users'])
  await line.read('partner', 'write', 'Hopeful', '--text', 'We are glad to help.')
  const messages = JSON.parse((await line.run('partner', 'messages', 'Hopeful', '--json')).stdout) as object[]
  const facts = messages.map((each) => Object.values({ ...each, written_at: '' }).join('|'))
  assert.deepEqual(facts, [
    '|brokerage|declined||Say more about your users',
    '|brokerage|message||We are glad to help.',
  ])
  const again = await line.fail('partner', 'decline', '1', '--reason', 'x')
  assert.deepEqual(again, { code: 1, stderr: 'Quant Desk is approved: it cannot be declined now.\n' })
})

test('refresh access is granted and withdrawn', async () => {
  assert.equal((await line.read('partner', 'withdraw-refresh', '1')).refresh_access, false)
  assert.equal((await line.read('partner', 'grant-refresh', '1')).refresh_access, true)
})

test('members are added and removed, and shown with their partner', async () => {
  await line.read('user', 'create', '--username', 'mia', '--name', 'Mia Member')
  assert.deepEqual((await line.read('partner', 'add-member', '1', 'mia')).members, ['mia'])
  assert.equal(parseRecord((await line.run('partner', 'show', '1')).stdout).members, 'mia')
  await line.read('user', 'create', '--username', 'otto', '--name', 'Otto Owner')
  await line.read('partner', 'add-member', '1', 'otto')
  assert.deepEqual((await line.read('partner', 'remove-member', '1', 'mia')).members, ['otto'])
  assert.deepEqual(await line.fail('partner', 'remove-member', '1', 'mia'), {
    code: 1,
    stderr: 'mia is not a member of Quant Desk.\n',
  })
})

test('members have roles, which are listed and set, and the last owner stays one', async () => {
  await line.read('user', 'create', '--username', 'vera', '--name', 'Vera Viewer')
  await line.read('partner', 'add-member', '1', 'vera', '--role', 'viewer')
  const roles = async () =>
    (
      JSON.parse((await line.run('partner', 'members', '1', '--json')).stdout) as Record<string, string>[]
    ).map(({ username, name, role }) => `${username} ${name} ${role}`)
  assert.deepEqual(await roles(), ['otto Otto Owner owner', 'vera Vera Viewer viewer'])
  const stderr = 'otto is the last owner of Quant Desk. Make another member an owner first.\n'
  assert.deepEqual(await line.fail('partner', 'remove-member', '1', 'otto'), { code: 1, stderr })
  assert.deepEqual(await line.fail('partner', 'set-role', '1', 'otto', '--role', 'viewer'), {
    code: 1,
    stderr,
  })
  await line.read('partner', 'set-role', '1', 'vera', '--role', 'owner')
  await line.read('partner', 'set-role', '1', 'otto', '--role', 'developer')
  assert.deepEqual(await roles(), ['otto Otto Owner developer', 'vera Vera Viewer owner'])
  const unknown = await line.fail('partner', 'set-role', '1', 'otto', '--role', 'king')
  assert.match(unknown.stderr, /--role must be one of viewer, developer, owner\./)
})

test('somebody is invited by mail, listed and uninvited', async () => {
  const sent = await line.read('partner', 'invite', '1', '--email', 'new@example.com', '--role', 'developer')
  assert.deepEqual(
    [sent.email, sent.role, sent.invited_by, sent.open],
    ['new@example.com', 'developer', null, true],
  )
  const listed = parseTable((await line.run('partner', 'invitations', '1')).stdout)
  assert.deepEqual([listed.length, listed[0]!.email], [1, 'new@example.com'])
  assert.equal((await line.read('partner', 'uninvite', '1', String(sent.id))).open, false)
  assert.deepEqual(await line.fail('partner', 'uninvite', '1', String(sent.id)), {
    code: 1,
    stderr: `Quant Desk has no invitation ${sent.id}.\n`,
  })
  await line.run('partner', 'create', '--name', 'Not yet')
  const refused = await line.fail(
    'partner',
    'invite',
    'Not yet',
    '--email',
    'new@example.com',
    '--role',
    'owner',
  )
  assert.deepEqual(refused, { code: 1, stderr: 'Not yet is applied: it cannot invite now.\n' })
})

test('what cannot be is refused with code 1 and a sentence', async () => {
  const cases: [string[], string][] = [
    [['create', '--name', 'Quant Desk'], 'name is taken.\n'],
    [['create', '--name', ' '], 'name must have 1 to 200 characters.\n'],
    [['create', '--name', '12'], 'name must not be a number, which would read as a branch id.\n'],
    [['show', 'Nobody'], 'There is no partner "Nobody".\n'],
    [['suspend', '99', '--reason', 'x'], 'There is no partner "99".\n'],
    [['add-member', '1', 'nobody'], 'There is no user "nobody".\n'],
  ]
  const done = await Promise.all(cases.map(([words]) => line.fail('partner', ...words)))
  assert.deepEqual(
    done,
    cases.map(([, stderr]) => ({ code: 1, stderr })),
  )
})

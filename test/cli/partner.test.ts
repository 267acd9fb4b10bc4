import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepOpen } from '../support/keep-open.ts'
import { openCommandLine, parseRecord, parseTable } from './desk.ts'

const line = await keepOpen(openCommandLine())
const words = ['--name', 'Quant Desk', '--approve', '--refresh', '--json']
const quant = (await line.runApart('partner', 'create', ...words)).json()
assert.deepEqual(quant, { ...quant, branch_id: 1, name: 'Quant Desk', status: 'approved', refresh_access: true })

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

test('refresh access is granted and withdrawn', async () => {
  assert.equal((await line.read('partner', 'withdraw-refresh', '1')).refresh_access, false)
  assert.equal((await line.read('partner', 'grant-refresh', '1')).refresh_access, true)
})

test('members are added and removed, and shown with their partner', async () => {
  await line.read('user', 'create', '--username', 'mia', '--name', 'Mia Member')
  assert.deepEqual((await line.read('partner', 'add-member', '1', 'mia')).members, ['mia'])
  assert.equal(parseRecord((await line.run('partner', 'show', '1')).stdout).members, 'mia')
  assert.deepEqual((await line.read('partner', 'remove-member', '1', 'mia')).members, [])
  assert.deepEqual(await line.fail('partner', 'remove-member', '1', 'mia'), {
    code: 1,
    stderr: 'mia is not a member of Quant Desk.\n',
  })
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

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/ask.ts'

import { keepOpen } from '../support/keep-open.ts'
import { openCommandLine, parseRecord, parseTable } from './command-line.ts'

const line = await keepOpen(openCommandLine())
await line.read('partner', 'create', '--name', 'Quant', '--approve', '--refresh')
await line.read('user', 'create', '--username', 'ada', '--name', 'Ada')

interface Entry {
  readonly id: number
  readonly action: string
  readonly subject: string
  readonly actor: string
  readonly at: string
}

test('the newest entries come first, for people and for programs', async () => {
  const entries = await line.read<Entry[]>('audit', 'list')
  assert.deepEqual(
    entries.map((entry) => entry.action),
    ['user.created', 'partner.refresh_granted', 'partner.approved', 'partner.applied'],
  )
  const table = parseTable((await line.run('audit', 'list')).stdout)
  assert.deepEqual(
    table.map((row) => [Number(row.id), row.action, row.at]),
    entries.map((entry) => [entry.id, entry.action, entry.at]),
  )
})

test('an entry has the names of its columns', async () => {
  const [entry] = await line.read<Entry[]>('audit', 'list', '--limit', '1')
  const names = ['id', 'at', 'actor', 'action', 'subject', 'environment', 'address', 'request_id', 'details']
  assert.deepEqual(Object.keys(entry!), names)
})

test('entries are found by actor, by action or its first half, and by subject', async () => {
  const [byHalf, byAction, bySubject, byActor, few] = await Promise.all([
    line.read<Entry[]>('audit', 'list', '--action', 'partner'),
    line.read<Entry[]>('audit', 'list', '--action', 'partner.approved'),
    line.read<Entry[]>('audit', 'list', '--subject', 'branch:1'),
    line.read<Entry[]>('audit', 'list', '--actor', 'operator:nobody'),
    line.read<Entry[]>('audit', 'list', '--limit', '2'),
  ])
  assert.deepEqual(
    [byHalf.length, byAction.length, bySubject.length, byActor.length, few.length],
    [3, 1, 3, 0, 2],
  )
})

test('a limit that is none is refused', async () => {
  const done = await Promise.all(
    ['many', '0', '-1', '1.5'].map((limit) => line.run('audit', 'list', `--limit=${limit}`)),
  )
  for (const { code, stdout, stderr } of done) {
    assert.equal(stdout, '')
    assert.equal(code, 1)
    assert.match(stderr, /^limit must /)
  }
})

test('a verification prints the head to keep, proves it later, and fails with code 1 when the log was changed', async () => {
  const { head, entries, intact } = parseRecord((await line.runApart('audit', 'verify')).stdout)
  assert.deepEqual([intact, entries], ['true', '4'])
  assert.match(head!, /^\d+:[0-9a-f]{64}$/)
  await line.read('partner', 'suspend', '1', '--reason', 'A test.')
  assert.equal((await line.read('audit', 'verify', '--anchor', head!)).entries, 5)
  const forged = head!.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
  const { code, stderr } = await line.fail('audit', 'verify', '--anchor', forged)
  assert.deepEqual(
    { code, stderr },
    {
      code: 1,
      stderr: `The chain does not contain the anchor ${forged}: entries up to it were removed or rewritten.\n`,
    },
  )
  await line.db.transaction(async (sql) => {
    await sql.script('SET LOCAL session_replication_role = replica')
    await ask(sql, "UPDATE audit_entries SET actor = 'operator:somebody' WHERE id = 2")
  })
  const broken = await line.runApart('audit', 'verify', '--json')
  assert.equal(broken.code, 1)
  assert.match(broken.stderr, /^The audit chain is broken at block 1: an entry of 1 to 4 was changed/)
})

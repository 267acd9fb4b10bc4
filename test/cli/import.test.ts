/** countersign import, as somebody at the machine uses it. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { listImports, readImport, startImport } from '../../src/provisioning/import.ts'
import { operatorAct } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeFolder } from '../support/process.ts'
import { readSource } from '../support/provisioning.ts'
import { openCommandLine } from './command-line.ts'

const line = await keepOpen(openCommandLine())

function write(name: string, content: string | Buffer): string {
  const path = join(makeFolder(), name)
  writeFileSync(path, content)
  return path
}

for (const source of ['plain', 'packed', 'table', 'cut', 'snap', 'joined', 'taken'])
  await line.read('source', 'create', source)

const customers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => ({
    kind: 'customer',
    externalId: `C${from + n}`,
    name: `Name ${from + n}`,
    version: 1,
  }))
const print = (records: readonly object[]) => records.map((each) => `${JSON.stringify(each)}\n`).join('')

test('a file of records is imported, packed or not', async () => {
  const told = await line.read('import', write('a.ndjson', print(customers(0, 10))), '--source', 'plain')
  assert.deepEqual([told.state, told.created, told.lines], ['finished', 10, 10])
  const packed = await line.read(
    'import',
    write('a.ndjson.gz', gzipSync(print(customers(0, 10)))),
    '--source',
    'packed',
  )
  assert.equal(packed.created, 10)
})

test('what cannot be read from its beginning on leaves no import behind', async () => {
  const count = async () => (await listImports(line.db, 100)).length
  const before = await count()
  assert.match(
    (await line.fail('import', write('b.ndjson.gz', 'not packed'))).stderr,
    /incorrect header check/,
  )
  assert.match(
    (await line.fail('import', write('b.csv', 'externalId,name\nC-1,Ada\n'))).stderr,
    /Say it with --kind/,
  )
  assert.match((await line.fail('import', join(makeFolder(), 'nowhere.ndjson'))).stderr, /no such file/)
  assert.equal(await count(), before)
})

test('a table of a small house is imported, and what is wrong with it is told with its line', async () => {
  const table = 'externalId,name,version,email\nC-1,"Lovelace, Ada",7,ada@example.com\nC-2,Bob,seven,\n'
  const file = write('customers.csv', table)
  assert.match(
    (await line.fail('import', file, '--source', 'table')).stderr,
    /kind must be a column, .*: one of customer, account, holding\. Say it with --kind\.\n$/,
  )
  const done = await line.run('import', file, '--source', 'table', '--kind', 'customer', '--json')
  assert.deepEqual(
    [done.code, done.stderr],
    [
      3,
      '1 of its records have a fault, and were not applied; all others were. See: countersign import show 3\n',
    ],
  )
  const told = JSON.parse(done.stdout)
  assert.deepEqual([told.created, told.failed], [1, 1])
  assert.deepEqual(told.faults, [
    { line: 3, field: 'version', problem: 'must be a whole number from 0 to 9007199254740991' },
  ])
  const [customer] = (await readSource(line.db, 'table')).customers!
  assert.deepEqual(customer, {
    id: 'C-1',
    version: 7,
    said: ['Lovelace, Ada', 'ada@example.com', 'table:c-1', 'active'],
  })
})

test('an import that was cut goes on with the same file', async () => {
  const act = () => operatorAct(new Date())
  const started = await startImport(
    line.db,
    { source: 'cut', environment: 'live', mode: 'changes', dryRun: false },
    act(),
  )
  async function* part() {
    yield Buffer.from(print(customers(0, 30)))
  }
  await readImport(line.db, started, part(), { act })
  const told = await line.read(
    'import',
    write('all.ndjson', print(customers(0, 50))),
    '--continue',
    String(started.id),
  )
  assert.deepEqual([told.id, told.lines, told.created, told.unchanged], [started.id, 50, 50, 0])
})

test('a snapshot that would remove too much says what to do, and does it when told', async () => {
  await line.read('import', write('all.ndjson', print(customers(0, 10))), '--source', 'snap')
  const done = await line.run(
    'import',
    write('few.ndjson', print(customers(0, 5))),
    '--source',
    'snap',
    '--mode',
    'snapshot',
    '--as-of',
    '9',
  )
  const [asked] = await listImports(line.db, 1)
  assert.match(
    done.stdout,
    new RegExp(`It would remove 5 of 10 records. If that is right: countersign import allow ${asked!.id}`),
  )
  const allowed = await line.read('import', 'allow', String(asked!.id))
  assert.deepEqual([allowed.state, allowed.removed], ['finished', 5])
})

test('words that mean nothing are refused in a sentence', async () => {
  assert.match(
    (await line.fail('import', write('x.ndjson', ''), '--mode', 'some')).stderr,
    /--mode must be one of/,
  )
  assert.match((await line.fail('import', 'show', 'x')).stderr, /An import has a number/)
})

test('who was made by hand is linked to what the core calls them, and its next import finds them and their account', async () => {
  const made = await line.read('user', 'create', '--username', 'ada', '--name', 'Ada')
  await line.read('user', 'account', 'ada', '--number', '6YA90001')
  const name = ['--source', 'joined', '--external-id']
  await line.read('user', 'link', 'ada', ...name, 'C-typo')
  assert.deepEqual(await line.read('user', 'link', 'ada', ...name, 'C-90'), {
    ...{ username: 'ada', source: 'joined', external_id: 'C-90' },
  })
  await line.read('user', 'link-account', '6ya90001', ...name, 'A-90')
  const records = [
    { kind: 'customer', externalId: 'C-90', name: 'Ada Lovelace', version: 1 },
    { kind: 'account', externalId: 'A-90', number: '6YA90001', type: 'margin', version: 1 },
    { kind: 'holding', customer: 'C-90', account: 'A-90', role: 'owner', version: 1 },
  ]
  const told = await line.read('import', write('joined.ndjson', print(records)), '--source', 'joined')
  assert.deepEqual([told.created, told.changed, told.failed], [0, 3, 0])
  const shown = await line.read('user', 'show', 'ada')
  assert.deepEqual([shown.id, shown.name, shown.accounts], [made.id, 'Ada Lovelace', ['6YA90001']])
})

test('nobody is linked whom a source knows, to a name that is taken, to another site’s source, or who is staff', async () => {
  await line.read('import', write('taken.ndjson', print(customers(70, 71))), '--source', 'taken')
  await line.read('user', 'create', '--username', 'ben', '--name', 'Ben')
  await line.read('user', 'create', '--username', 'olga', '--name', 'Olga', '--operator')
  await line.read('user', 'account', 'ben', '--number', '6YA90002')
  const fail = async (...words: string[]) => (await line.fail('user', ...words)).stderr
  const name = (id: string, source = 'taken') => ['--source', source, '--external-id', id]
  assert.match(await fail('link', 'ben', ...name('C70')), /Another customer has the external id C70 of taken/)
  assert.match(await fail('link', 'taken:c70', ...name('C71')), /A source knows taken:c70 already/)
  assert.match(await fail('link', 'olga', ...name('C72')), /olga is staff/)
  assert.match(await fail('link', 'ben', ...name('C 73')), /external-id must be 1 to 64 letters/)
  assert.match(
    await fail('link', 'ben', ...name('C73'), '--environment', 'sandbox'),
    /source is of the live site/,
  )
  assert.match(await fail('link-account', '6YA99999', ...name('A1')), /There is no live account 6YA99999/)
})

/**
 * One line that PostgreSQL refuses, for a reason that nobody thought of, is a fault of that line; and lines
 * without a record cost nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getImport, listFaults, readImport, startImport } from '../../src/provisioning/import.ts'
import { readLines } from '../../src/provisioning/lines.ts'
import { openHouse } from '../support/gateway.ts'
import { household, importLines } from '../support/imports.ts'
import { nameSource, readSource } from '../support/provisioning.ts'

const house = await openHouse({ ROLES: 'api' })
const { db } = house.gateway.context
await db.script(`ALTER TABLE users ADD CONSTRAINT poison CHECK (name <> 'Poison');
  ALTER TABLE accounts ADD CONSTRAINT poison CHECK (classification <> 'Poison')`)

const customers = (count: number, poisoned: readonly number[]) =>
  Array.from({ length: count }, (_, n) => ({
    ...{ kind: 'customer', externalId: `C${n}`, version: 1 },
    name: poisoned.includes(n + 1) ? 'Poison' : `Name ${n}`,
  }))

test('a batch that PostgreSQL refuses is halved until the bad lines alone are at fault', async () => {
  const source = await nameSource(house)
  const bad = [1, 700, 701, 2_000, 2_001, 3_333]
  const read = await importLines(house, source, customers(4_000, bad))
  assert.deepEqual(
    [read.state, read.created, read.failed, read.lines],
    ['finished', 4_000 - bad.length, bad.length, 4_000],
  )
  assert.deepEqual(
    (await listFaults(db, read.id)).map(({ line, field, problem }) => [line, field, problem]),
    bad.map((line) => [line, 'line', 'holds a value that the database does not take']),
  )
  assert.equal((await readSource(db, source)).customers!.length, 4_000 - bad.length)
})

test('of a snapshot, and of a dry run, it is the same: what was refused counts as missing, as every line with a fault', async () => {
  const source = await nameSource(house)
  await importLines(house, source, [...household(source, 1), ...household(source, 2)])
  const poisoned = household(source, 2, 2).map((each) => ({
    ...each,
    ...('name' in each && { name: 'Poison' }),
  }))
  const lines = [...household(source, 1, 2), ...poisoned]
  const dry = await importLines(house, source, lines, { mode: 'snapshot', dryRun: true, asOf: 1 })
  assert.deepEqual([dry.changed, dry.failed, dry.missing], [5, 1, 1])
  const read = await importLines(house, source, lines, { mode: 'snapshot', asOf: 1 })
  assert.deepEqual([read.changed, read.failed, read.missing], [5, 1, 1])
})

async function* repeat(text: string, times: number): AsyncGenerator<Buffer> {
  const chunk = Buffer.from(text)
  for (let n = 0; n < times; n++) yield chunk
}

test('millions of empty lines are read as one, and committed with what is around them', async () => {
  const record = JSON.stringify({ kind: 'customer', externalId: 'C1', name: 'Ada', version: 1 })
  const emptyLines = 64 * 1024
  async function* file() {
    yield* repeat('\n'.repeat(emptyLines), 40)
    yield Buffer.from(record.slice(0, 9))
    yield Buffer.from(`${record.slice(9)}\n`)
    yield* repeat('\n'.repeat(emptyLines), 40)
  }
  const pieces: { lines: number; bytes: number }[] = []
  for await (const { lines, bytes } of readLines(file())) pieces.push({ lines, bytes })
  const half = 40 * emptyLines
  assert.deepEqual(pieces, [
    { lines: half + 1, bytes: half + record.length + 1 },
    { lines: half, bytes: half },
  ])
  const source = await nameSource(house)
  const draft = { source, environment: 'live', mode: 'changes', dryRun: false } as const
  const started = await startImport(db, draft, house.act())
  let batches = 0
  await readImport(db, started, file(), { act: house.act, progress: () => batches++ })
  const read = await getImport(db, started.id)
  assert.deepEqual([read.lines, read.created, read.failed, batches], [2 * half + 1, 1, 0, 1])
})

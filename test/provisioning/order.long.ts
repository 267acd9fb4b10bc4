/**
 * A source has an order, the ways to here have none: the same records, however they come, give the same rows.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Sql } from '../../src/database/database.ts'
import { mergeAll } from '../../src/provisioning/provisioning.ts'
import type { SourceRecord } from '../../src/provisioning/record.ts'
import { mergeAllStaged, StagedRows, stage } from '../../src/provisioning/staging.ts'
import { openHouse } from '../support/gateway.ts'
import { nameSource, readSource } from '../support/provisioning.ts'

const house = await openHouse()
const { db } = house.gateway.context
let sources = 0

const few = (...words: string[]) => fc.constantFrom(...words)
const op = fc.constantFrom('upsert', 'upsert', 'upsert', 'remove')
/** What is said under one version is said once: the version stands for it. */
const said = fc.record({
  kind: few('customer', 'account', 'holding'),
  op,
  customer: few('1', '2', '3'),
  account: few('1', '2', '3'),
  word: fc.nat(4),
})

function toRecord(
  {
    kind,
    op,
    customer,
    account,
    word,
  }: { kind: string; op: string; customer: string; account: string; word: number },
  source: string,
  version: number,
): SourceRecord {
  const named = { kind, op, version, line: version } as SourceRecord
  if (kind === 'holding') {
    const keys = { customer: `C${customer}`, account: `A${account}` }
    return op === 'remove'
      ? { ...named, ...keys }
      : {
          ...named,
          ...keys,
          role: ['owner', 'joint', 'custodian', 'adviser', 'viewer'][word],
          status: word % 2 ? 'active' : 'suspended',
        }
  }
  if (kind === 'customer') {
    const key = { externalId: `C${customer}` }
    return op === 'remove'
      ? { ...named, ...key }
      : {
          ...named,
          ...key,
          name: `Name ${word}`,
          email: `${word}@example.com`,
          status: word % 2 ? 'active' : 'disabled',
        }
  }
  const key = { externalId: `A${account}` }
  const number = `${source.toUpperCase()}X${account}000`
  return op === 'remove'
    ? { ...named, ...key }
    : {
        ...named,
        ...key,
        number,
        type: word % 2 ? 'cash' : 'margin',
        optionLevel: word + 1,
        status: word > 2 ? 'closed' : 'active',
      }
}

type Merge = (sql: Sql, source: string, records: readonly SourceRecord[]) => Promise<unknown>

const inJson: Merge = (sql, source, records) =>
  mergeAll(sql, { source, environment: 'live' }, records, house.act())

/** As of a snapshot, of which only what is not known is merged. */
const byCopy: Merge = async (sql, source, records) => {
  const rows = new StagedRows()
  for (const each of records) rows.add(each, each.line as number)
  await stage(sql, rows.bytes())
  await mergeAllStaged(sql, { id: 1, source, environment: 'live', mode: 'snapshot' }, house.act())
}

async function tell(source: string, batches: readonly (readonly SourceRecord[])[], merge: Merge) {
  await nameSource(house, 'live', source)
  for (const batch of batches) {
    const records = batch.map((each, line) => ({ ...each, line }))
    await db.transaction((sql) => merge(sql, source, records))
  }
  const rows = await readSource(db, source)
  return JSON.parse(
    JSON.stringify(rows).replaceAll(`${source.toUpperCase()}X`, '').replaceAll(`${source}:`, ''),
  )
}

test('records in any order, in any batches, with duplicates, give the same rows as in the order of their versions', async () => {
  const order = fc.record({
    all: fc.array(said, { minLength: 1, maxLength: 25 }),
    seed: fc.infiniteStream(fc.nat(1_000_000)),
    size: fc.integer({ min: 1, max: 8 }),
  })
  await fc.assert(
    fc.asyncProperty(order, async ({ all, seed, size }) => {
      const inOrder = `s${++sources}`
      const write = (source: string) => all.map((each, place) => toRecord(each, source, place + 1))
      const expected = await tell(
        inOrder,
        write(inOrder).map((each) => [each]),
        inJson,
      )
      for (const merge of [inJson, byCopy]) {
        const shuffled = `s${++sources}`
        const twice = [...write(shuffled), ...write(shuffled).filter((_, place) => place % 3 === 0)]
        const mixed = twice
          .map((each) => [seed.next().value as number, each] as const)
          .sort(([one], [other]) => one - other)
          .map(([, each]) => each)
        const batches = Array.from({ length: Math.ceil(mixed.length / size) }, (_, n) =>
          mixed.slice(n * size, (n + 1) * size),
        )
        assert.deepEqual(await tell(shuffled, batches, merge), expected)
      }
    }),
    { numRuns: 50 },
  )
})

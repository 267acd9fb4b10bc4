/** A database that is away for a moment while a file is imported. */

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { type Database, DatabaseUnavailable } from '../../src/database/database.ts'
import { listImports, readImport, startImport } from '../../src/provisioning/import.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse } from '../support/gateway.ts'
import { openCore } from '../support/provisioning.ts'

const house = await openHouse()
const { db } = house.gateway.context
const core = await openCore(house, 'live', ['core'])

const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => {
    const record = { kind: 'customer', externalId: `C${from + n}`, name: `Name ${from + n}`, version: 1 }
    return `${JSON.stringify(record)}\n`
  }).join('')

const cutAll = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
   WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'countersign'`
const cutEverybody = () =>
  eventually('whoever was connected is not', () => ask(db, cutAll).catch(() => false))

test('an import outlasts a database that is away for a moment', async () => {
  const running = async () => (await listImports(db, 1, { sources: ['core'] }))[0]
  async function* send() {
    yield linesOf(0, 1)
    await eventually('it has begun', running)
    for (let line = 1; line < 5_000; line += 100) {
      yield linesOf(line, Math.min(line + 100, 5_000))
      if (line % 500 === 1) await cutEverybody()
    }
    const hasCome = async () => (await running())?.lines === 4_000
    await eventually('two batches are committed', () => hasCome().catch(() => false))
    yield linesOf(5_000, 6_000)
  }
  const answer = await fetch(`${house.internalUrl}/internal/v1/imports?source=core`, {
    method: 'POST',
    headers: { ...core.headers, 'content-type': 'application/x-ndjson' },
    body: Readable.toWeb(Readable.from(send())) as ReadableStream,
    duplex: 'half',
  } as RequestInit)
  const text = await answer.text()
  assert.equal(answer.status, 201, text)
  assert.equal((JSON.parse(text) as { created: number }).created, 6_000)
})

test('a batch whose commit was not heard of is applied once', async () => {
  let sent = 0
  const deaf: Database = {
    ...db,
    async transaction(work) {
      const result = await db.transaction(work)
      if (++sent % 2 === 1) throw new DatabaseUnavailable('The answer was lost.')
      return result
    },
  }
  const draft = { source: 'core', environment: 'live', mode: 'changes', dryRun: false } as const
  const started = await startImport(db, draft, house.act())
  const file = Readable.from([Buffer.from(linesOf(10_000, 13_000))])
  const read = await readImport(deaf, started, file, { act: () => house.act() })
  assert.deepEqual([read.lines, read.created, read.unchanged, sent], [3_000, 3_000, 0, 2])
})

/** One dialect inside: PostgreSQL is asked, of every statement there is, what the columns of its answer are called. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import type { Statement } from '../src/database/database.ts'
import { openDay } from '../src/webhooks/events/days.sql.ts'
import { openTestDatabase } from './support/database.ts'
import { keepOpen } from './support/keep-open.ts'
import { listStatements } from './support/statements.ts'

const day = 260302

const database = await keepOpen(openTestDatabase())
const client = new pg.Client({ connectionString: database.url })
await client.connect()
await keepOpen({ close: () => client.end() })
await client.query(openDay.text, [day])
// As a transaction has it that imports.
await client.query('CREATE TEMPORARY TABLE staged_records OF provisioned')

/** The type of a column that stands for a function which is called for what it does (`void`). */
const answersNothing = 2278

/** Parsed and described, but not run. */
function describe({ text }: Statement): Promise<string[]> {
  return new Promise((answer, fail) => {
    let names: string[] = []
    client.query({
      submit(connection: pg.Connection) {
        connection.parse({ name: '', text, types: [] }, false)
        connection.describe({ type: 'S', name: '' }, false)
        connection.sync()
      },
      handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }) {
        names = fields.filter(({ dataTypeID }) => dataTypeID !== answersNothing).map(({ name }) => name)
      },
      handleReadyForQuery: () => answer(names),
      handleError: fail,
    } as pg.Submittable)
  })
}

test('every column of every row is called as TypeScript calls it', async () => {
  const wrong: string[] = []
  const statements = await listStatements()
  for (const { file, ...statement } of statements) {
    const names = await describe(statement).catch((error: Error) => {
      wrong.push(`${file}: ${statement.name}: ${error.message}`)
      return []
    })
    // Functions of PostgreSQL's own.
    const odd = names.filter((name) => name.includes('_') && !/^(pg_|set_config$)/.test(name))
    wrong.push(...odd.map((name) => `${file}: ${statement.name}: ${name}`))
  }
  assert.deepEqual(wrong, [])
  assert.ok(statements.length > 80, `${statements.length} statements`)
})

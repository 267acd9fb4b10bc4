/** One dialect inside: PostgreSQL is asked, of every statement there is, what the columns of its answer are called. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import type { Statement } from '../src/database/database.ts'
import { openDay } from '../src/webhooks/days.sql.ts'
import { openTestDatabase } from './support/database.ts'
import { keepOpen } from './support/keep-open.ts'

const day = 260302

const database = await keepOpen(openTestDatabase())
const client = new pg.Client({ connectionString: database.url })
await client.connect()
await keepOpen({ close: () => client.end() })
await client.query(openDay.text, [day])
// As a transaction has it that imports.
await client.query('CREATE TEMPORARY TABLE staged_records OF provisioned')

const rooms = ['**']

async function listStatements(file: string): Promise<Statement[]> {
  const values = Object.values((await import(pathToFileURL(resolve(file)).href)) as object)
  return values.flatMap((value: unknown) => {
    // What statementOfDay makes is a function that has no name; what makes parts of texts has one.
    const made = typeof value === 'function' && value.name === '' ? value(day) : value
    return isStatement(made) ? [made] : []
  })
}

function isStatement(value: unknown): value is Statement {
  return typeof value === 'object' && value !== null && 'name' in value && 'text' in value
}

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
      handleRowDescription({ fields }: { fields: readonly { name: string }[] }) {
        names = fields.map(({ name }) => name)
      },
      handleReadyForQuery: () => answer(names),
      handleError: fail,
    } as pg.Submittable)
  })
}

test('every column of every row is called as TypeScript calls it', async () => {
  const wrong: string[] = []
  let statements = 0
  for (const file of globSync(rooms.map((room) => `src/${room}/*.sql.ts`)).sort()) {
    for (const statement of await listStatements(file)) {
      statements++
      const names = await describe(statement)
      // What a function answers that is called for what it does.
      const odd = names.filter((name) => name.includes('_') && !name.startsWith('pg_'))
      wrong.push(...odd.map((name) => `${file}: ${statement.name}: ${name}`))
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(statements > 80, `${statements} statements`)
})

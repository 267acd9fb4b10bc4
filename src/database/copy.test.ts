import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../../test/support/ask.ts'
import { openTestDatabase } from '../../test/support/database.ts'
import { keepOpen } from '../../test/support/keep-open.ts'
import { printCopied } from './copy.ts'
import { openDatabase } from './database.ts'

const house = await keepOpen(openTestDatabase())
const db = await keepOpen(openDatabase({ connectionString: house.url, connections: 1 }))

const copying = 'CREATE TEMPORARY TABLE copied (line int, said text) ON COMMIT DROP; COPY copied FROM STDIN'
const select = 'SELECT said FROM copied ORDER BY line'

test('what is copied is what was said, whatever characters it has', async () => {
  const said = ['', '\\N', '\\.', 'a\tb', 'a\nb', 'a\r\nb', 'a\\b', '\u{1f600} ü', null]
  const rows = said.map((each, line) => `${line}\t${printCopied(each)}\n`).join('')
  const read = await db.transaction(async (sql) => {
    await sql.copy(copying, Buffer.from(rows))
    return ask<{ said: string | null }>(sql, select)
  })
  assert.deepEqual(
    read.map((each) => each.said),
    said,
  )
})

test('rows that do not fit are refused, and the connection goes on', async () => {
  await assert.rejects(
    db.transaction((sql) => sql.copy(copying, Buffer.from('no number\tx\n'))),
    { code: '22P02' },
  )
  const [row] = await ask<{ one: number }>(db, 'SELECT 1 AS one')
  assert.equal(row!.one, 1)
})

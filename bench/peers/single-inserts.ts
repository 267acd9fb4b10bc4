/** One row at a time through `pg`, from so many loops at once. */
import pg from 'pg'
import { announce } from './announce.ts'
import { body } from './post.ts'

const [connectionString, concurrency] = process.argv.slice(2) as [string, string]
const pool = new pg.Pool({ connectionString, max: Number(concurrency) })
await pool.query('CREATE TABLE rows (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL)')
const insert = { name: 'insert', text: 'INSERT INTO rows (body) VALUES ($1)', values: [body] }

announce('', async ({ count: durationMs }) => {
  let inserted = 0
  const started = performance.now()
  const loop = async () => {
    while (performance.now() - started < durationMs) {
      await pool.query(insert)
      inserted++
    }
  }
  await Promise.all(Array.from({ length: Number(concurrency) }, loop))
  return (inserted * 1000) / (performance.now() - started)
})

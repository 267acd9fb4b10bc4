/** Transactions of a brokerage's core, from sixteen connections: a transfer is completed, and said so. */
import pg from 'pg'
import { announce } from './announce.ts'

const [connectionString, branch] = process.argv.slice(2) as [string, string]
const connections = 16
const branchId = Number(branch)

const pool = new pg.Pool({ connectionString, max: connections })
await pool.query(`
  CREATE TABLE transfers (id bigint PRIMARY KEY, state text NOT NULL);
  CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now())`)

const complete = { name: 'complete', text: "INSERT INTO transfers (id, state) VALUES ($1, 'COMPLETED')" }
const say: Record<string, (id: number) => pg.QueryConfig> = {
  insert: (id) => ({ name: 'insert', text: 'INSERT INTO outbox (body) VALUES ($1)', values: [print(id)] }),
  publish: (id) => ({
    name: 'publish',
    text: "SELECT publish_event('live', $1, 'TRANSACTION', 'COMPLETED', $2, $3)",
    values: [branchId, String(id), print(id)],
  }),
}

function print(transactionId: number): string {
  return JSON.stringify({
    ...{
      transactionId,
      clearingAccount: 'CLEARING-ACCOUNT-'.padEnd(60, '0'),
      type: 'TRANSACTION',
      action: 'COMPLETED',
    },
    ...{ branchId, email: 'holder@example.com'.padStart(60, 'a'), amount: 1250.5, direction: 'DEPOSIT' },
  })
}

let lastId = 0

announce('', async ({ kind, count: durationMs }) => {
  let committed = 0
  const started = performance.now()
  const loop = async () => {
    const client = await pool.connect()
    for (; performance.now() - started < durationMs; committed++) {
      const id = ++lastId
      await client.query('BEGIN')
      await client.query({ ...complete, values: [id] })
      await client.query(say[kind]!(id))
      await client.query('COMMIT')
    }
    client.release()
  }
  await Promise.all(Array.from({ length: connections }, loop))
  return (committed * 1000) / (performance.now() - started)
})

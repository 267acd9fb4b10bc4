/** Replays that run for as long as a test does: no job of the gateway takes them up, however often it looks. */
import type { TestContext } from 'node:test'
import { openDatabase, statement } from '../../src/database/database.ts'
import type { TestGateway } from './gateway.ts'

const insertStopped = statement(
  '',
  `INSERT INTO replays (webhook_id, selection, total, until_id, state, created_at, finished_at)
   SELECT $1, $2::jsonb, 1, 0, 'canceled', $3, $3 FROM generate_series(1, $4) RETURNING id`,
)
/** Whoever takes one up locks it for update, and passes by what is locked in any way; its state can be changed all the same. */
const hold = statement('', 'SELECT FROM replays WHERE id = ANY ($1::bigint[]) FOR KEY SHARE')
const begin = statement('', `UPDATE replays SET state = 'running', finished_at = NULL WHERE id = ANY ($1::bigint[])`)
const stop = statement(
  '',
  `UPDATE replays SET state = 'canceled', finished_at = created_at WHERE id = ANY ($1::bigint[])`,
)

/** They are held before they begin and stop before they are let go. */
export async function holdReplays(
  t: TestContext,
  { databaseUrl, clock }: TestGateway,
  webhookId: number,
  selection: object,
  count = 1,
): Promise<void> {
  const db = openDatabase({ connectionString: databaseUrl, connections: 2 })
  const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const rows = await db.query<{ id: number }>(insertStopped, [webhookId, selection, clock.now(), count])
  const ids = rows.map(({ id }) => id)
  const holding = db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await sql.query(hold, [ids])
    held.resolve()
    await over.promise
  })
  t.after(async () => {
    await db.query(stop, [ids])
    over.resolve()
    await holding
    await db.close()
  })
  await Promise.race([held.promise, holding])
  await db.query(begin, [ids])
}

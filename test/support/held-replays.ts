/** Replays that run for as long as a test does: no job of the gateway takes them up, however often it looks. */
import type { TestContext } from 'node:test'
import { statement } from '../../src/database/database.ts'
import type { TestGateway } from './gateway.ts'
import { hold } from './hold.ts'

const insertStopped = statement(
  '',
  `INSERT INTO replays (webhook_id, selection, total, until_id, state, created_at, finished_at)
   SELECT $1, $2::jsonb, 1, 0, 'canceled', $3, $3 FROM generate_series(1, $4) RETURNING id`,
)
/** Whoever takes one up locks it for update, and passes by what is locked in any way; its state can be changed all the same. */
const lock = statement('', 'SELECT FROM replays WHERE id = ANY ($1::bigint[]) FOR KEY SHARE')
const begin = statement('', `UPDATE replays SET state = 'running', finished_at = NULL WHERE id = ANY ($1::bigint[])`)

/** They are held before they begin. */
export async function holdReplays(
  t: TestContext,
  { databaseUrl, clock, gateway }: TestGateway,
  webhookId: number,
  selection: object,
  count = 1,
): Promise<void> {
  const { db } = gateway.context
  const rows = await db.query<{ id: number }>(insertStopped, [webhookId, selection, clock.now(), count])
  const ids = rows.map(({ id }) => id)
  await hold(t, databaseUrl, (sql) => sql.query(lock, [ids]))
  await db.query(begin, [ids])
}

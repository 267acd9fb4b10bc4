/**
 * A lane that nobody serves for as long as a test runs: a worker has it that lives and does nothing. Nobody
 * counts on it, and nobody takes it for gone.
 */

import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { after, second } from '../../src/clock.ts'
import { giveNumber, lifeLock, registerWorker } from '../../src/webhooks/engine/workers.sql.ts'
import { ask } from './ask.ts'
import type { TestGateway } from './gateway.ts'
import { hold } from './hold.ts'

const lockLife = 'SELECT pg_advisory_xact_lock($1, $2)'
const take = 'UPDATE cursors SET holder = $1, epoch = epoch + 1 WHERE webhook_id = ANY ($2::bigint[])'

export async function holdLanes(
  t: TestContext,
  { databaseUrl, clock, gateway }: Pick<TestGateway, 'databaseUrl' | 'clock' | 'gateway'>,
  webhookIds: readonly number[],
): Promise<void> {
  const { db } = gateway.context
  const number = await db.transaction(async (sql) => {
    // Longer ago than others count on it, and not so long that it is gone.
    const worker = await sql.one(giveNumber)
    await sql.query(registerWorker, { ...worker, id: randomUUID(), now: after(clock.now(), -8 * second) })
    await hold(t, databaseUrl, (held) => ask(held, lockLife, [lifeLock, worker.number]))
    return worker.number
  })
  await ask(db, take, [number, webhookIds])
}

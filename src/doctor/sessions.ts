/**
 * Whether a connection stays one session of PostgreSQL. A proxy that hands sessions out a transaction at a
 * time breaks prepared statements and notifications: revocations would reach nodes late, and workers would
 * sleep until their next look.
 */
import { randomUUID } from 'node:crypto'
import type { Sql } from '../database/database.ts'
import { notifyHeard, selectSession } from '../database/server.sql.ts'
import type { Primary } from './database-hosts.ts'
import { type Answer, fail, ok } from './finding.ts'
import { limits } from './limits.ts'

const directAdvice =
  'Connect straight to PostgreSQL, or set the proxy (such as PgBouncer) to pool sessions, not transactions.'

/** While another connection is in a transaction, ours must still speak to the session it spoke to before. */
export async function checkSessions(primary: Primary): Promise<Answer> {
  const [one, other] = [primary.another(), primary.another()]
  const read = async (sql: Sql) => (await sql.one(selectSession)).session
  const before = await read(one)
  const after = await other.transaction(async (sql) => {
    await read(sql)
    return read(one)
  })
  if (before === after) return { finding: ok('A connection keeps its session.') }
  return {
    finding: fail(
      'A connection changed its session between two statements: a proxy pools them.',
      directAdvice,
    ),
  }
}

export async function checkNotifications({ db }: Primary): Promise<Answer> {
  const channel = `countersign_doctor_${randomUUID()}`
  const heard = Promise.withResolvers<boolean>()
  const listener = await db.listen(
    channel,
    () => heard.resolve(true),
    () => heard.resolve(false),
  )
  const startedAt = performance.now()
  const timer = setTimeout(() => heard.resolve(false), limits.checkMs / 2)
  try {
    await db.query(notifyHeard, { channel })
    if (await heard.promise)
      return { finding: ok(`A notification took ${Math.round(performance.now() - startedAt)} ms.`) }
    return { finding: fail('A notification was sent and not heard.', directAdvice) }
  } finally {
    clearTimeout(timer)
    await listener.close()
  }
}

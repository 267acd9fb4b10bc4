/** A partner's members are told of a webhook that has been failing for a while. */
import { after, hour } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { memberLimits } from '../../notices/notice.ts'
import { attemptsLooked, entitiesAtLeast } from '../engine/breaker.ts'
import { findPresentParts } from '../events/away-parts.ts'
import { selectFailingLong, tellFailing } from './webhook-notices.sql.ts'

/** How long a breaker is open before the partner is notified: shorter outages mend themselves. */
export const failingMs = hour

/** Once for each time it fails: when it has worked in between, the next is told again. */
export async function watchFailingWebhooks(db: Database, now: Date): Promise<number> {
  const failing: { readonly webhookId: number; readonly failingSince: Date }[] = []
  const long = { since: after(now, -failingMs), failuresAtLeast: attemptsLooked, entitiesAtLeast }
  for (const part of await findPresentParts(db))
    failing.push(...(await db.query(selectFailingLong, { part, ...long })))
  if (failing.length === 0) return 0
  const told = await db.query(tellFailing, {
    ...memberLimits(now),
    webhookIds: failing.map((row) => row.webhookId),
    failingSince: failing.map((row) => row.failingSince),
  })
  return told.length
}

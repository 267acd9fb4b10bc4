/** A client secret that ends soon: programs that still use it are about to stop working. */
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { memberLimits } from '../notices/notice.ts'
import { tellEnding } from './secret-notices.sql.ts'

/** How long before the end. */
const warnedMs = day

export async function watchEndingSecrets(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(tellEnding, { ...memberLimits(now), before: after(now, warnedMs) })).length
}

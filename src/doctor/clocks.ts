import type { Clock } from '../clock.ts'
import { selectTimeOnce } from '../database/server.sql.ts'
import type { Primary } from './database-hosts.ts'
import { type Answer, grade, printDuration } from './finding.ts'
import { limits } from './limits.ts'

/** This machine's clock beside the database's, as it stood in the middle of the question. */
export async function checkClock({ db }: Primary, clock: Clock): Promise<Answer> {
  const asked = clock.now().getTime()
  const startedAt = performance.now()
  const row = await db.one(selectTimeOnce)
  const middle = asked + (performance.now() - startedAt) / 2
  const aheadMs = middle - row.time.getTime()
  const { warnMs, failMs } = limits.clock
  return {
    finding: grade(
      Math.abs(aheadMs),
      { warn: warnMs, fail: failMs },
      `This machine is ${printDuration(aheadMs)} ${aheadMs < 0 ? 'behind' : 'ahead of'} the database.`,
      'Let both keep time by the same servers (chrony, systemd-timesyncd). Leases and expiry are counted by the clocks of nodes.',
    ),
  }
}

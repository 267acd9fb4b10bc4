/** The workers, for people to see: one for each process that has the role. */
import { second } from '../../clock.ts'
import type { Sql } from '../../database/database.ts'
import { silentAfterMs } from './membership.ts'
import { selectSeenWorkers } from './workers.sql.ts'

export interface SeenWorker {
  readonly number: number
  readonly lanes: number
  /** From where its connection comes; null for one on the same machine that needs no network. */
  readonly address: string | null
  readonly since: Date | null
  readonly seenAt: Date
  /**
   * `silent`: it holds its lock and has not reported for so long that other workers have its lanes; `gone`:
   * no connection holds its lock.
   */
  readonly state: 'well' | 'silent' | 'gone'
}

/**
 * Without `now`, because the caller's clock may not be the workers', silence is judged by the newest report
 * of any worker.
 */
export function listWorkers(sql: Sql, now?: Date): Promise<SeenWorker[]> {
  return sql.query(selectSeenWorkers, { now, silentSeconds: silentAfterMs / second })
}

/** Who delivers, for people to see: a worker for each process that has the role. */
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
   * `silent`: it is there and has said nothing for so long that others have its lanes; `gone`: nobody holds
   * its lock.
   */
  readonly state: 'well' | 'silent' | 'gone'
}

/** Without a time of one's own, which may not be theirs, who is silent is told by the others. */
export function listWorkers(sql: Sql, now?: Date): Promise<SeenWorker[]> {
  return sql.query(selectSeenWorkers, { now, silentSeconds: silentAfterMs / second })
}

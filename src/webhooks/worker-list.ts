/** Who delivers, for people to see: a worker for each process that has the role. */
import { second } from '../clock.ts'
import { type Sql, statement } from '../database/database.ts'
import { leaseMs } from './membership.ts'
import { lifeLock } from './workers.sql.ts'

export interface SeenWorker {
  readonly number: number
  readonly lanes: number
  /** From where its connection comes; null for one on the same machine that needs no network. */
  readonly address: string | null
  readonly since: Date | null
  readonly seen_at: Date
  /** `silent`: it is there and has said nothing for so long that others have its lanes; `gone`: nobody holds its lock. */
  readonly state: 'well' | 'silent' | 'gone'
}

const selectWorkers = statement(
  'select_seen_workers',
  `SELECT w.number, w.lanes, host(a.client_addr) AS address, a.backend_start AS since, w.seen_at,
     CASE WHEN l.pid IS NULL THEN 'gone' WHEN w.seen_at < coalesce($1::timestamptz, (SELECT max(seen_at) FROM workers)) - make_interval(secs => $2) THEN 'silent' ELSE 'well' END AS state
   FROM workers w
   LEFT JOIN pg_locks l ON l.locktype = 'advisory' AND l.classid = ${lifeLock} AND l.objid::bigint = w.number AND l.objsubid = 2 AND l.granted
     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   LEFT JOIN pg_stat_activity a ON a.pid = l.pid
   ORDER BY w.number`,
)

/** Without a time of one's own, which may not be theirs, who is silent is told by the others. */
export function listWorkers(sql: Sql, now?: Date): Promise<SeenWorker[]> {
  return sql.query<SeenWorker>(selectWorkers, [now, leaseMs / second])
}

/** Processor time of a gateway: what it costs, whatever else the machine is busy with. */
import { readFamilyUs } from './costs/processor-time.ts'
import type { GatewayUnderTest } from './gateway.ts'
import { findPostgresPid } from './postgres.ts'

/** Of its processes and of PostgreSQL, in microseconds so far. */
export async function openMeter({ db, pid }: Pick<GatewayUnderTest, 'db' | 'pid'>): Promise<() => number> {
  const postgresPid = await findPostgresPid(db)
  return () => readFamilyUs(pid) + readFamilyUs(postgresPid)
}

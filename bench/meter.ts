/** Processor time of a gateway: what it costs, whatever else the machine is busy with. */
import { readFamilyUs, readMainThreadUs } from './costs/processor-time.ts'
import type { GatewayUnderTest } from './gateway.ts'
import { roundMs } from './load.ts'
import { findPostgresPid } from './postgres.ts'
import type { Side } from './rounds.ts'

/** Of its processes and of PostgreSQL, in microseconds so far. */
export async function openMeter({ db, pid }: Pick<GatewayUnderTest, 'db' | 'pid'>): Promise<() => number> {
  const postgresPid = await findPostgresPid(db)
  return () => readFamilyUs(pid) + readFamilyUs(postgresPid)
}

/** Of the thread that runs JavaScript: what limits a node, however much else the machine has to do. */
export function perProcessorSecond(pid: number, side: Side): Side {
  return {
    async measure() {
      const before = readMainThreadUs(pid)
      const rate = await side.measure()
      return (rate * roundMs * 1000) / (readMainThreadUs(pid) - before)
    },
  }
}

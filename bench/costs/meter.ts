/**
 * What one operation costs. Each kind of work runs for several rounds and the cheapest counts: whatever else
 * the machine does can only add to it.
 */
import type { House } from './house.ts'
import { readFamilyUs, readMainThreadUs, readProcessUs } from './processor-time.ts'
import { findPlace, readWritten, type WriteVolume } from './write-ahead-log.ts'

export interface Cost extends WriteVolume {
  /** Of the thread that runs JavaScript, and of the node's other threads. */
  readonly mainThreadUs: number
  readonly otherThreadsUs: number
  readonly postgresUs: number
  /** Of what stands beside and is no part of the gateway: the load generator and the receiver. */
  readonly besideUs: number
}

/** Does a round of the work and answers how many operations it was. */
export type Work = () => Promise<number>

const rounds = 3

export interface MeteredWork {
  readonly house: House
  readonly nodePid: number
  readonly receiverPid?: number
  /** Done before each round, and not counted. */
  readonly prepare?: () => Promise<void>
  readonly work: Work
}

export async function measureCost(metered: MeteredWork): Promise<Cost> {
  const costs: Cost[] = []
  for (let round = 0; round <= rounds; round++) {
    await metered.prepare?.()
    costs.push(await measureRound(metered))
  }
  // The first round warms up.
  return costs.slice(1).reduce((best, cost) => (sumUs(cost) < sumUs(best) ? cost : best))
}

async function measureRound({ house, nodePid, receiverPid, work }: MeteredWork): Promise<Cost> {
  const { db, postgresPid } = house
  const place = await findPlace(db)
  const [main, node, postgres] = [
    readMainThreadUs(nodePid),
    readProcessUs(nodePid),
    readFamilyUs(postgresPid),
  ]
  const beside = readBesideUs(receiverPid)
  const operations = await work()
  const besideUs = readBesideUs(receiverPid) - beside
  const mainThreadUs = readMainThreadUs(nodePid) - main
  const otherThreadsUs = readProcessUs(nodePid) - node - mainThreadUs
  const postgresUs = readFamilyUs(postgresPid) - postgres
  const written = await readWritten(db, place, await findPlace(db))
  return divide({ mainThreadUs, otherThreadsUs, postgresUs, besideUs, ...written }, operations)
}

function readBesideUs(receiverPid: number | undefined): number {
  return readProcessUs(process.pid) + (receiverPid === undefined ? 0 : readProcessUs(receiverPid))
}

function divide(cost: Cost, operations: number): Cost {
  const each = Object.entries(cost).map(([name, value]) => [name, Math.max(0, value) / operations])
  return Object.fromEntries(each) as Cost
}

function sumUs({ mainThreadUs, otherThreadsUs, postgresUs }: Cost): number {
  return mainThreadUs + otherThreadsUs + postgresUs
}

import type { Database } from '../../database/database.ts'
import { poolOf } from '../events/part.ts'
import { selectHolders } from './kernel.sql.ts'
import { selectNumbers } from './workers.sql.ts'

/**
 * The workers that hold lanes of a part and are no more. Who holds is read first: a worker is known before it
 * takes a lane, so that one that joins meanwhile is among the living.
 */
export async function findGoneHolders(db: Database, part: number): Promise<number[]> {
  const holders = await poolOf(db, part).query(selectHolders, { part })
  if (holders.length === 0) return []
  const living = new Set((await db.query(selectNumbers)).map(({ number }) => number))
  return holders.map(({ holder }) => holder).filter((holder) => !living.has(holder))
}

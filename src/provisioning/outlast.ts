import { setTimeout as wait } from 'node:timers/promises'
import { DatabaseUnavailable } from '../database/database.ts'

/** A failover, or a disk that is busy with a checkpoint, takes seconds; together this is half a minute. */
const pausesMs = [200, 1_000, 3_000, 8_000, 15_000]

/**
 * Works again while the database is away: for what takes so long that it meets such a moment, and does no
 * harm twice.
 */
export async function outlast<Result>(work: () => Promise<Result>): Promise<Result> {
  for (const pauseMs of pausesMs) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await wait(pauseMs)
    }
  }
  return work()
}

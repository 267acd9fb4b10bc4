/** How far the collector is behind, and since when: for the doctor, the command line and Prometheus. */
import type { Sql } from '../database/database.ts'
import { selectListener } from './listeners.sql.ts'

export interface PushState {
  /** The last block that was heard. */
  readonly position: number
  readonly heardAt: Date | null
  readonly unheardBlocks: number
  /** How long the oldest block that was not heard has been waiting. */
  readonly unheardMs: number
  readonly failingSince: Date | null
  readonly failure: string | null
}

export async function readPushState(sql: Sql, address: Buffer, now: Date): Promise<PushState> {
  const { newest, unheardSince, ...state } = await sql.one(selectListener, { address })
  return {
    ...state,
    unheardBlocks: Math.max(0, newest - state.position),
    unheardMs: unheardSince ? Math.max(0, now.getTime() - unheardSince.getTime()) : 0,
  }
}

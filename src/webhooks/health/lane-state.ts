/** What the lanes say of themselves, part by part: of those that have work, fail or were not tried, or of some. */

import type { Sql } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import { byPart } from '../events/branch-log.ts'
import { allParts } from '../events/part.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { selectLaneStates, selectRated, selectStatesOf } from './lane-states.sql.ts'

export interface LaneState {
  readonly webhookId: number
  /** By which act its term began: its time at one address without being closed. */
  readonly termBegan: 'created' | 'resumed' | 'approved' | 'readdressed'
  /** Whether an attempt was answered in this term. */
  readonly isTried: boolean
  /** Attempts of this term in a row that were not accepted, and since when. */
  readonly failures: number
  readonly failingSince: Date | null
  /** The same of the last term in which anything was tried: what an act did not mend is still to be mended. */
  readonly troubleSince: Date | null
  /** Different entities of which something failed or goes on. */
  readonly entities: number
  /** What was tried in vain and is tried again: the first of each entity, and what was asked for again. */
  readonly retried: number
  /** Of the first that waits; it may lie in the future. Null: nothing waits. */
  readonly dueAt: Date | null
  /** Of the first that should have been sent; null while nothing is late, or held back on purpose. */
  readonly lateSince: Date | null
}

export type LaneStates = ReadonlyMap<number, LaneState>

type Row = RowOf<typeof selectLaneStates>

export async function readLaneStates(
  sql: Sql,
  now: Date,
  webhooks?: readonly Pick<Webhook, 'id' | 'branchId'>[],
): Promise<LaneStates> {
  const rated = (await sql.query(selectRated)).map(({ id }) => id)
  const rows: Row[] = []
  if (webhooks)
    for (const [part, of] of byPart(webhooks))
      rows.push(
        ...(await sql.query(selectStatesOf, { part, now, rated, webhookIds: of.map(({ id }) => id) })),
      )
  else for (const part of allParts) rows.push(...(await sql.query(selectLaneStates, { part, now, rated })))
  return new Map(
    rows.map((row) => [
      row.webhookId,
      { ...row, dueAt: momentOf(row.dueAt), lateSince: momentOf(row.lateSince) },
    ]),
  )
}

/** An infinity: nothing waits. */
function momentOf(read: Row['dueAt']): Date | null {
  return read instanceof Date ? read : null
}

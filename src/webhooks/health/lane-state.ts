/** What the lanes that have work say of themselves, part by part. */

import type { Sql } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import { byPart } from '../events/branch-log.ts'
import { allParts } from '../events/part.ts'
import type { Webhook } from '../subscriptions/webhook.ts'
import { selectLaneStates, selectRated, selectStatesOf } from './lane-states.sql.ts'

export interface LaneState {
  readonly webhookId: number
  readonly failures: number
  readonly failingSince: Date | null
  /** Different entities that fail. */
  readonly entities: number
  /** Of the first that waits; it may lie in the future. */
  readonly dueAt: Date | null
  /** Of the first that should have been sent; null while nothing is late, or held back on purpose. */
  readonly lateSince: Date | null
}

type Row = RowOf<typeof selectLaneStates>

export async function readLaneStates(
  sql: Sql,
  now: Date,
  webhooks?: readonly Pick<Webhook, 'id' | 'branchId'>[],
): Promise<ReadonlyMap<number, LaneState>> {
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

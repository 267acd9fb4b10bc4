/** The deliveries of several webhooks, newest first, in pages whose cost does not depend on how many there are. */
import { after, minute } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { findFirstSince } from '../database/halving.ts'
import type { Delivery, DeliveryFilter } from './delivery.ts'
import * as table from './delivery-search.sql.ts'
import type { Webhook } from './webhook.ts'

/** How many are looked at for one page, over all webhooks. */
const lookedAtMost = 4_000
/** Nodes give their times by one clock; what differs beyond this is not found by its time. */
const slackMs = minute

export interface FoundDeliveries {
  readonly deliveries: readonly Delivery[]
  /** From where to look on; undefined when there is no more. */
  readonly next: number | undefined
}

/** What was sent again is kept longer than its event, and told of no longer: without a `uid`. */
type FoundRow = Omit<Delivery, 'uid'> & { readonly uid: string | null; readonly reached: number }

export async function searchDeliveries(
  sql: Sql,
  webhookIds: readonly number[],
  filter: DeliveryFilter,
  beforeId: number,
  most: number,
): Promise<FoundDeliveries> {
  const { state, kind, entity, from, to } = filter
  const lowest = from ? await findFirstSince(sql, table.selectFirstSince, after(from, -slackMs)) : 0
  const before = to
    ? Math.min(beforeId, await findFirstSince(sql, table.selectFirstSince, after(to, slackMs)))
    : beforeId
  const isPlain = [state, kind, entity, from, to].every((each) => each === undefined)
  const window = isPlain ? most + 1 : Math.max(most + 1, Math.floor(lookedAtMost / Math.max(1, webhookIds.length)))
  const statement = chooseStatement(state)
  const rows = await sql.query<FoundRow>(statement, [
    ...[webhookIds, before, lowest, window],
    // The entity's name begins with the kind: no look at the event is needed.
    ...[state === 'unfinished' ? undefined : state, kind && `${kind.toLowerCase()}:`, entity, from, to, most + 1],
  ])
  const found = rows.filter((row) => row.id !== null)
  const deliveries = found.slice(0, most).filter((row) => row.uid !== null)
  return { deliveries: deliveries as Delivery[], next: nextOf(found, most, rows[0]?.reached ?? 0) }
}

/** The same of one webhook, as many as are asked for unless there are no more, however rare they are. */
export async function listDeliveries(
  sql: Sql,
  webhook: Webhook,
  filter: DeliveryFilter,
  beforeId: number,
  most: number,
): Promise<Delivery[]> {
  const found: Delivery[] = []
  for (let before: number | undefined = beforeId; before !== undefined && found.length < most; ) {
    const page: FoundDeliveries = await searchDeliveries(sql, [webhook.id], filter, before, most - found.length)
    found.push(...page.deliveries)
    before = page.next
  }
  return found
}

function nextOf(found: readonly Pick<Delivery, 'id'>[], most: number, reached: number): number | undefined {
  if (found.length > most) return found[most - 1]!.id
  return reached > 0 ? reached : undefined
}

function chooseStatement(state: DeliveryFilter['state']) {
  if (state === 'exhausted') return table.searchExhausted
  const isWaiting = state === 'unfinished' || state === 'waiting' || state === 'blocked'
  return isWaiting ? table.searchUnfinished : table.searchAll
}

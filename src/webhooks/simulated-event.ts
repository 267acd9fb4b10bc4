/** Spec 4.6: an event that did not happen, for every registered URL of a branch or for one of them. */
import { randomInt } from 'node:crypto'
import type { Sql } from '../database/database.ts'
import { insertEvents, type NewEvent, type PublishedEvent } from './event.ts'
import { aimEvent } from './events.sql.ts'
import { entityFields, entityOf, type Payload, type PublishedKind, printPayload } from './kind.ts'
import type { Branch, Webhook } from './webhook.ts'

export function simulateEvent(
  { branchId, environment }: Branch,
  kind: PublishedKind,
  payload: Payload,
  exactAmount: string | undefined,
): NewEvent {
  return {
    ...{ environment, branchId, kind, simulated: true, action: String(payload.action) },
    // Of its own: what did not happen holds up nothing that did.
    entity: `${entityOf(kind, payload)}:test`,
    body: printPayload(kind, payload, exactAmount),
  }
}

/** For one webhook alone, in a transaction: nobody dispatches the event before it is known which. */
export async function insertAimedEvent(
  sql: Sql,
  event: NewEvent,
  { id }: Pick<Webhook, 'id'>,
  now: Date,
  traceparent: string | undefined,
): Promise<PublishedEvent> {
  const [published] = await insertEvents(sql, [event], now, traceparent === undefined ? undefined : [traceparent])
  await sql.query(aimEvent, [published!.id, id])
  return published!
}

/** Unlikely to be that of a test that still waits, behind which this one would have to wait; and short enough to be read aloud. */
export function freshId(kind: PublishedKind): Readonly<Record<string, string>> {
  return { [entityFields[kind]]: String(randomInt(100_000_000, 1_000_000_000)) }
}

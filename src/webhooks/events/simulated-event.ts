/** Spec 4.6: an event that did not happen, for every registered URL of a branch or for one of them. */
import { randomInt } from 'node:crypto'
import type { Branch } from './branch.ts'
import type { NewEvent } from './event.ts'
import { entityFields, entityOf, type Payload, type PublishedKind, printPayload } from './kind.ts'

export function simulateEvent(
  { branchId, environment }: Branch,
  kind: PublishedKind,
  payload: Payload,
  exactAmount: string | undefined,
  webhookId?: number,
): NewEvent {
  return {
    ...{ environment, branchId, kind, simulated: true, action: String(payload.action), webhookId },
    // Of its own: what did not happen holds up nothing that did.
    entity: `${entityOf(kind, payload)}:test`,
    body: printPayload(kind, payload, exactAmount),
  }
}

/**
 * Unlikely to be that of a test that still waits, behind which this one would have to wait; and short enough
 * to be read aloud.
 */
export function freshId(kind: PublishedKind): Readonly<Record<string, string>> {
  return { [entityFields[kind]]: String(randomInt(100_000_000, 1_000_000_000)) }
}

/** Spec 4.6: an event that did not happen, for every registered URL of a branch. */
import type { NewEvent } from './event.ts'
import { entityOf, type Payload, type PublishedKind, printPayload } from './kind.ts'
import type { Branch } from './webhook.ts'

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

/** Of a delivery that waits behind another of the same entity: behind which, and what to do. */
import type { BlockingDelivery } from '../../../webhooks/deliveries/delivery.ts'
import { type Html, html } from '../../frame/html.ts'
import type { Member } from '../../gates/gates.ts'

export function printAhead({ aheadId, attempts }: BlockingDelivery, { home }: Member): Html {
  const failed =
    attempts > 0 && html`, which has failed ${attempts === 1 ? 'once' : `${attempts} times`} so far`
  return html`Queued behind <a href="${home}/deliveries/${aheadId}">#${aheadId}</a>${failed}.
    It goes out as soon as that one is delivered or skipped.`
}

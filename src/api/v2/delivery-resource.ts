/** What deliveries look like wherever they are told of. */
import { integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import { deliveryStates } from '../../webhooks/deliveries/delivery.ts'
import { deliveryIdPattern } from '../../webhooks/engine/delivery-id.ts'

/** A webhook, an entry of its branch's log and, of what was sent again, which time. */
export const deliveryId = (description: string, example = '1-1') =>
  text(description, example, { pattern: deliveryIdPattern })

export const EventId = text(
  'The id of the event, the same in every delivery of it: `webhook-id`.',
  'evt_0198c5f2a3b47d6e8f90a1b2c3d4e5f6',
)

export const DeliveryStateBody = oneOf(deliveryStates, {
  title: 'DeliveryState',
  description:
    '`waiting` for its moment, `blocked` behind an earlier one of its entity, `delivered`, `exhausted` when it failed after all retries, `canceled`, `expired` when its event became too old to be kept.',
})

export const attemptFields = {
  outcome: oneOf(['accepted', 'refused', 'unreachable'], {
    description: 'A 2xx; any other answer; no answer.',
  }),
  status: Type.Optional(integer('The status that the receiver answered.', 200)),
  why: Type.Optional(text('Why there was no answer.', 'timeout')),
  detail: Type.Optional(
    text(
      'What else was seen of a failure: the code of the error, such as `CERT_HAS_EXPIRED`; or who answered, by `server`, `via`, `content-type`, `location` and `www-authenticate`, a header a line.',
      'ECONNREFUSED',
    ),
  ),
  durationMs: integer('How long it took, in milliseconds.', 42),
}

/**
 * The name of a delivery: which webhook, which entry of its branch's log and, of what was asked for again,
 * which time. `12-345` is entry 345 for webhook 12, `12-345-2` the same once more, in round 2. It is known
 * from the moment the entry has its number, also while no row tells of the delivery.
 */
export interface DeliveryKey {
  readonly webhookId: number
  readonly seq: number
  /** 0: what happened. */
  readonly round: number
}

const largestRound = 2 ** 31 - 1

/** For schemas. Numbers begin with no zero, so that a delivery has one name. */
export const deliveryIdPattern = '^[1-9][0-9]{0,15}-[1-9][0-9]{0,15}(-[1-9][0-9]{0,9})?$'
const shape = new RegExp(deliveryIdPattern)

export function printDeliveryId({ webhookId, seq, round }: DeliveryKey): string {
  return round === 0 ? `${webhookId}-${seq}` : `${webhookId}-${seq}-${round}`
}

/** Undefined for what is no name of a delivery. */
export function parseDeliveryId(text: string): DeliveryKey | undefined {
  if (!shape.test(text)) return undefined
  const [webhookId = 0, seq = 0, round = 0] = text.split('-').map(Number)
  if (!Number.isSafeInteger(webhookId) || !Number.isSafeInteger(seq) || round > largestRound) return undefined
  return { webhookId, seq, round }
}

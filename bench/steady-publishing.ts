/**
 * Publishes at a steady rate, whatever the answers do: what is late shows as latency, not as a lower rate.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { GatewayUnderTest } from './gateway.ts'
import { openWire } from './load.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import type { Receiver } from './receiver.ts'
import type { Credentials } from './requests.ts'

const tickMs = 5
const connections = 32
/** Whatever has not come by then never will. */
const timeoutMs = 60_000

export interface Steady {
  readonly branchIds: readonly number[]
  readonly perSecond: number
  readonly durationMs: number
  /** How many deliveries arrive of one event. */
  readonly arrivalsEach: number
}

/**
 * Milliseconds from the moment before an event was sent to the gateway until it arrived, in the order of
 * arrival.
 */
export async function publishSteadily(
  { source, internal }: GatewayUnderTest,
  publisher: Credentials,
  receiver: Receiver,
  { branchIds, perSecond, durationMs, arrivalsEach }: Steady,
): Promise<number[]> {
  const total = Math.round((perSecond * durationMs) / 1000)
  const wire = await openWire(internal, connections)
  const arrived = receiver.awaitMore(total * arrivalsEach)
  const started = performance.now()
  let sent = 0
  const answers: Promise<void>[] = []
  while (sent < total) {
    const due = Math.min(total, Math.floor(((performance.now() - started) * perSecond) / 1000))
    for (; sent < due; sent++) {
      const now = (performance.timeOrigin + performance.now()).toFixed(3)
      const event = makeEvent(branchIds[sent % branchIds.length]!, `t${now}`)
      answers.push(wire.send(publishRequest(publisher, [event])))
    }
    await new Promise((resolve) => setTimeout(resolve, tickMs))
  }
  const deadline = new AbortController()
  const tooLong = wait(timeoutMs, undefined, deadline).then(() => {
    throw new Error(`Not all of ${total} events arrived from ${source} within ${timeoutMs / 1000} s.`)
  })
  await Promise.race([Promise.all([...answers, arrived]), tooLong]).finally(() => deadline.abort())
  wire.close()
  return receiver.takeLatencies()
}

/** One scenario from the first request to the verdict. */
import { setTimeout as wait } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import { testTimeoutMs } from '../../support/timeout.ts'
import { checkPromises, type Findings } from './checker.ts'
import { type House, openHouse } from './house.ts'
import type { Scenario } from './scenarios.ts'
import { startTraffic, type Traffic } from './traffic.ts'

export interface Scale {
  /** Traffic before the fault, and after everything works again. */
  readonly calmMs: number
  readonly faultMs: number
  readonly isFull: boolean
  /** Between two requests of whoever sends them. */
  readonly pauseMs: number
  /** Deliveries of a backlog. */
  readonly waiting: number
}

export interface Verdict extends Findings {
  /**
   * From the fault's end until every node was ready, took an event, and those events had reached every
   * webhook.
   */
  readonly resumedAfterMs: number
}

/** Undefined where this machine cannot have the fault. */
export async function runScenario(scenario: Scenario, scale: Scale): Promise<Verdict | undefined> {
  const { calmMs, waiting, pauseMs } = scale
  const faultMs = lengthOf(scenario, scale)
  const preparation = scenario.prepare ? scenario.prepare() : { options: {} }
  if (!preparation) return undefined
  try {
    const house = await openHouse(preparation.options)
    const traffic = startTraffic(house, pauseMs)
    try {
      await wait(calmMs)
      await scenario.inject(house, faultMs, preparation.disk, waiting)
      const resumedAfterMs = await measureResumption(house, traffic)
      await wait(calmMs)
      await traffic.stop()
      return { resumedAfterMs, ...(await checkPromises(house, traffic.promises)) }
    } finally {
      const stopped = traffic.stop()
      await house.close()
      await stopped
    }
  } finally {
    preparation.disk?.close()
  }
}

function lengthOf({ lasts }: Scenario, { faultMs, isFull }: Scale): number {
  if (!lasts) return faultMs
  return isFull ? lasts.fullMs : lasts.shortMs
}

/** Until every node is ready, has taken an event, and those events have reached every webhook. */
export async function measureResumption(
  { nodes, hooks, receiver }: House,
  traffic: Traffic,
): Promise<number> {
  const endedAt = performance.now()
  await Promise.all(
    nodes.map(async (node) => {
      await eventually(`${node.origin} is ready`, () => isReady(node.origin))
      const id = await traffic.publishAt(node, testTimeoutMs)
      const hasArrived = () => hooks.every((path) => receiver.at(path).some((request) => request.id === id))
      await eventually('the event reaches every webhook', hasArrived)
    }),
  )
  return performance.now() - endedAt
}

const answerWithinMs = 10_000

async function isReady(origin: string): Promise<boolean> {
  return fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(answerWithinMs) }).then(
    (answer) => answer.ok,
    () => false,
  )
}

/**
 * One process and two of a gateway, in turns: what the second brings on the cores there are, and what it
 * costs.
 */
import type { Benchmark } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { printExchange } from './code-exchange.ts'
import { type GatewayUnderTest, startGateway } from './gateway.ts'
import { durableConnections, roundMs, send, underLoad } from './load.ts'
import { openMeter } from './meter.ts'
import { urlOf, webhooks } from './peers/post.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import type { Result } from './report.ts'
import { bearerGet, cycle, useOnce } from './requests.ts'
import { median, type Side } from './rounds.ts'
import { here } from './source.ts'
import type { Stage } from './stage.ts'

const rounds = 5
/** In several parts, so that what is divided by parts can be divided. */
const branches = 4
const eventsEach = 50
const deliveries = branches * eventsEach * (webhooks / branches)
const exchangesPerSecond = 12_000
const goals = { delivery: 1, late: 1.8, cost: 1.1 }

/** `late`: deliveries to a receiver that takes 50 ms. */
const kinds = ['delivery', 'late', 'profile', 'exchange'] as const
type Kind = (typeof kinds)[number]

interface Measurement {
  readonly rate: number
  readonly usEach: number
}

type Family = Record<Kind, () => Promise<Measurement>>

export const processes: Benchmark = {
  name: 'processes',
  async run(stage) {
    const receiver = await startReceiver(stage)
    const families = [await openFamily(stage, receiver, 1), await openFamily(stage, receiver, 2)]
    const results: Result[] = []
    for (const kind of kinds) results.push(...(await compareOn(kind, families)))
    return results
  },
}

async function compareOn(kind: Kind, families: readonly Family[]): Promise<Result[]> {
  const pairs: (readonly [Measurement, Measurement])[] = []
  for (let round = 0; round <= rounds; round++) {
    const theirs = await families[0]![kind]()
    pairs.push([await families[1]![kind](), theirs])
  }
  // The first round warms up.
  pairs.shift()
  const figure = (name: string, unit: string, of: (each: Measurement) => number) => ({
    ...{ name, against: 'one process', unit },
    ratio: median(pairs.map(([ours, theirs]) => of(ours) / of(theirs))),
    ours: median(pairs.map(([ours]) => of(ours))),
    theirs: median(pairs.map(([, theirs]) => of(theirs))),
  })
  const rate = figure(`${kind}, two processes`, 'a second', (each) => each.rate)
  const cost = figure(`${kind}, two processes: processor time`, 'µs each', (each) => each.usEach)
  // Only deliveries have a goal: who makes the requests takes its share of the same cores.
  return [
    { ...rate, goal: kind === 'delivery' || kind === 'late' ? goals[kind] : 0 },
    { ...cost, goal: goals.cost, atMost: true },
  ]
}

async function openFamily(stage: Stage, receiver: Receiver, count: number): Promise<Family> {
  const gateway = await startGateway(stage, here, { PROCESSES: String(count) })
  const readUs = await openMeter(gateway)
  const costOf = async (work: () => Promise<{ readonly rate: number; readonly count: number }>) => {
    const before = readUs()
    const { rate, count } = await work()
    return { rate, usEach: (readUs() - before) / count }
  }
  const underWay = (side: Side) =>
    costOf(async () => {
      const rate = await side.measure()
      return { rate, count: (rate * roundMs) / 1000 }
    })
  const requests = (await gateway.makeAccessTokens(holders)).map((token) =>
    bearerGet('/v1/user/profile', token),
  )
  const profile = underLoad({
    origin: gateway.origin,
    prepareRound: cycle(requests),
    expected: '"accounts":[{',
  })
  const makeExchanges = async (count: number) =>
    (await gateway.makeCodes(count)).map((code) =>
      printExchange('/v1/oauth/accesstoken', gateway.client, code),
    )
  const exchanges = underLoad({
    origin: gateway.origin,
    connections: durableConnections,
    prepareRound: useOnce(makeExchanges, exchangesPerSecond),
    expected: '"refresh_token":',
  })
  const delivering = async (origin: string) => {
    const fanOut = await openFanOuts(gateway, receiver, origin)
    return () => costOf(async () => ({ rate: await fanOut.measure(), count: deliveries }))
  }
  return {
    delivery: await delivering(receiver.origin),
    late: await delivering(`${receiver.origin}/late`),
    profile: () => underWay(profile),
    exchange: () => underWay(exchanges),
  }
}

async function openFanOuts(gateway: GatewayUnderTest, receiver: Receiver, origin: string): Promise<Side> {
  const branchIds: number[] = []
  for (let branch = 0; branch < branches; branch++) {
    const places = Array.from({ length: webhooks / branches }, (_, n) => branch * (webhooks / branches) + n)
    branchIds.push(await gateway.makeBranch(places.map((place) => urlOf(origin, place))))
  }
  const publisher = await gateway.makePublisher()
  return {
    async measure() {
      const startedMs = performance.now()
      const published = branchIds.map((branchId) =>
        send(
          gateway.internal,
          publishRequest(
            publisher,
            Array.from({ length: eventsEach }, () => makeEvent(branchId)),
          ),
        ),
      )
      await Promise.all([...published, receiver.awaitMore(deliveries)])
      return (deliveries * 1000) / (performance.now() - startedMs)
    },
  }
}

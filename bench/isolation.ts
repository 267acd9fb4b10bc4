/**
 * A branch whose webhooks all answer, beside one half of whose webhooks never do: how late the healthy ones
 * are.
 */
import type { Benchmark } from './benchmark.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import type { Credentials } from './requests.ts'
import { median, quantile } from './rounds.ts'
import { here, type Source } from './source.ts'
import type { Stage } from './stage.ts'
import { publishSteadily } from './steady-publishing.ts'

const healthy = 20
const perSecond = 50
const durationMs = 6_000
const rounds = 5
const goal = 1.3

export const isolation: Benchmark = {
  name: 'isolation',
  async run(stage) {
    const receiver = await startReceiver(stage)
    const gateways = [
      await openHouse(stage, here, receiver, healthy),
      await openHouse(stage, here, receiver, 0),
    ]
    const p99s: number[][] = []
    for (let round = 0; round <= rounds; round++) {
      const each: number[] = []
      for (const house of gateways) each.push(await measureP99(house, receiver))
      p99s.push(each)
    }
    // The first round warms up; in it, the hanging webhooks also time out for the first time.
    p99s.shift()
    return [
      {
        name: 'isolation',
        against: 'the same without the hanging half',
        ratio: median(p99s.map(([mixed, alone]) => mixed! / alone!)),
        goal,
        atMost: true,
        ours: median(p99s.map(([mixed]) => mixed!)),
        theirs: median(p99s.map(([, alone]) => alone!)),
        unit: 'ms, p99',
      },
    ]
  },
  async openCourse(stage, source) {
    const receiver = await startReceiver(stage)
    const house = await openHouse(stage, source, receiver, healthy)
    return {
      async measure() {
        return [
          { name: 'isolation', value: await measureP99(house, receiver), unit: 'ms, p99', isCost: true },
        ]
      },
    }
  },
}

interface House {
  readonly gateway: GatewayUnderTest
  readonly publisher: Credentials
  readonly branchId: number
}

async function openHouse(stage: Stage, source: Source, receiver: Receiver, hanging: number): Promise<House> {
  const gateway = await startEmptyGateway(stage, { source })
  const urls = Array.from(
    { length: healthy + hanging },
    (_, n) => `${receiver.origin}/${n < healthy ? 'well' : 'hang'}/${n}`,
  )
  return { gateway, publisher: await gateway.makePublisher(), branchId: await gateway.makeBranch(urls) }
}

async function measureP99({ gateway, publisher, branchId }: House, receiver: Receiver): Promise<number> {
  const steady = { branchIds: [branchId], perSecond, durationMs, arrivalsEach: healthy }
  return quantile(await publishSteadily(gateway, publisher, receiver, steady), 0.99)
}

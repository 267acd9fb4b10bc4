/** A branch whose webhooks all answer, beside one half of whose webhooks never do: how late the healthy ones are. */
import type { Benchmark } from './benchmark.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { makeBranch, makePublisher } from './publisher.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import type { Credentials } from './requests.ts'
import { median, quantile } from './rounds.ts'
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
    const gateways = [await openHouse(stage, receiver, healthy), await openHouse(stage, receiver, 0)]
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
}

interface House {
  readonly gateway: GatewayUnderTest
  readonly publisher: Credentials
  readonly branchId: number
}

async function openHouse(stage: Stage, receiver: Receiver, hanging: number): Promise<House> {
  const gateway = await startEmptyGateway(stage)
  const urls = Array.from(
    { length: healthy + hanging },
    (_, n) => `${receiver.origin}/${n < healthy ? 'well' : 'hang'}/${n}`,
  )
  return { gateway, publisher: await makePublisher(gateway), branchId: await makeBranch(gateway, urls) }
}

async function measureP99({ gateway, publisher, branchId }: House, receiver: Receiver): Promise<number> {
  const steady = { branchIds: [branchId], perSecond, durationMs, arrivalsEach: healthy }
  return quantile(await publishSteadily(gateway, publisher, receiver, steady), 0.99)
}

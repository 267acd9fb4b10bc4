/** What writing down API calls costs: the same requests at a gateway that does, and at one that does not. */
import { type Benchmark, race } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { mostPerSecond, printExchange } from './code-exchange.ts'
import { startGateway } from './gateway.ts'
import { durableConnections, underLoad } from './load.ts'
import { perProcessorSecond } from './meter.ts'
import { bearerGet, cycle, useOnce } from './requests.ts'
import type { Side } from './rounds.ts'
import type { Source } from './source.ts'
import type { Stage } from './stage.ts'

const without = {
  NODE_OPTIONS: `--import ${new URL('without-call-log.ts', import.meta.url).pathname}`,
}
const goal = 0.95

type Started = Awaited<ReturnType<typeof startGateway>>

function beside(name: string, sideOf: (gateway: Started) => Promise<Side> | Side): Benchmark {
  const open = async (stage: Stage, source: Source, env: Record<string, string>) => {
    const gateway = await startGateway(stage, source, env)
    return perProcessorSecond(gateway.pid, await sideOf(gateway))
  }
  return race({
    name,
    unit: 'requests a processor second',
    open: async (stage, source) => ({
      ours: await open(stage, source, {}),
      openPeers: async () => [{ against: 'no log of calls', goal, side: await open(stage, source, without) }],
    }),
  })
}

export const callLogOfProfiles = beside('call-log-profile', async (gateway) => {
  const tokens = await gateway.makeAccessTokens(holders)
  const requests = tokens.map((token) => bearerGet('/v1/user/profile', token))
  return underLoad({ origin: gateway.origin, prepareRound: cycle(requests), expected: '"accounts":[{' })
})

export const callLogOfTokens = beside('call-log-token', (gateway) =>
  underLoad({
    ...{ origin: gateway.origin, connections: durableConnections, expected: '"refresh_token":' },
    prepareRound: useOnce(
      async (count) =>
        (await gateway.makeCodes(count)).map((code) =>
          printExchange('/v1/oauth/accesstoken', gateway.client, code),
        ),
      mostPerSecond.ours,
    ),
  }),
)

/** Spec 4.5: GET /v1/user/profile with a thousand living access tokens, beside a bare Fastify route. */
import { race } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { type Load, probe, underLoad } from './load.ts'
import { bearerGet, cycle } from './requests.ts'
import { startPeer } from './server-process.ts'

const path = '/v1/user/profile'

export const profile = race({
  name: 'profile',
  unit: 'requests/s',
  async open(stage, source) {
    const gateway = await startGateway(stage, source)
    const requests = (await gateway.makeAccessTokens(holders)).map((token) => bearerGet(path, token))
    const load = (origin: string): Load => ({
      origin,
      prepareRound: cycle(requests),
      expected: '"accounts":[{',
    })
    const ours = load(gateway.origin)
    return {
      ours: underLoad(ours),
      async openPeers() {
        const program = new URL('peers/bare-fastify.ts', import.meta.url)
        const bare = await startPeer(stage, program, [path, JSON.stringify(await probe(ours))])
        return [{ against: 'a bare Fastify route', goal: 0.7, side: underLoad(load(bare.origin)) }]
      },
    }
  },
})

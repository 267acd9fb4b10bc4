/**
 * An API that @countersign/resource protects, called with a thousand living access tokens that it remembers,
 * beside the same Fastify route without protection.
 */
import { createService } from '../src/services/service.ts'
import { race } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { type Load, send, underLoad } from './load.ts'
import { bearerGet, cycle } from './requests.ts'
import { startPeer } from './server-process.ts'

const path = '/positions'
const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })

export const resource = race({
  name: 'resource',
  unit: 'requests/s',
  async open(stage, source) {
    const gateway = await startGateway(stage, source)
    const { service, secret } = await createService(gateway.db, 'Positions', 'live', act())
    const options = {
      issuer: gateway.origin,
      internalUrl: gateway.internal,
      credential: { id: service.id, secret: secret.text },
    }
    const program = new URL('peers/fastify-api.ts', import.meta.url)
    const api = await startPeer(stage, program, [path, JSON.stringify(options)])
    const requests = (await gateway.makeAccessTokens(holders)).map((token) => bearerGet(path, token))
    const load = (origin: string): Load => ({ origin, prepareRound: cycle(requests), expected: 'ACME' })
    // What is measured is what it remembers.
    for (const request of requests) await send(api.origin, request)
    return {
      ours: underLoad(load(api.origin)),
      async openPeers() {
        const bare = await startPeer(stage, program, [path])
        return [{ against: 'the route unprotected', goal: 0.9, side: underLoad(load(bare.origin)) }]
      },
    }
  },
})

/** Spec 4.4: a new access token for a refresh token that stays the same, on disk when answered. */
import { race } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { durableConnections as connections, type PrintedRequest, underLoad } from './load.ts'
import { peerClient, startInMemory, startOnPostgres } from './oidc-provider.ts'
import { type Credentials, cycle, formPost } from './requests.ts'
import type { Side } from './rounds.ts'
import type { PeerProcess } from './server-process.ts'

const expected = '"access_token":'

export const refresh = race({
  name: 'refresh',
  unit: 'requests/s',
  async open(stage, source) {
    const gateway = await startGateway(stage, source)
    const tokens = await gateway.makeRefreshTokens(holders)
    const requests = tokens.map((token) => refreshWith('/v1/oauth/refreshtoken', gateway.client, token))
    return {
      ours: underLoad({ origin: gateway.origin, connections, prepareRound: cycle(requests), expected }),
      openPeers: async () => [
        { against: 'oidc-provider, memory', goal: 1.5, side: await peerSide(await startInMemory(stage)) },
        { against: 'oidc-provider, PostgreSQL', goal: 3, side: await peerSide(await startOnPostgres(stage)) },
      ],
    }
  },
})

async function peerSide(peer: PeerProcess): Promise<Side> {
  const tokens = await peer.ask<string[]>('refreshTokens', holders)
  const requests = tokens.map((token) => refreshWith('/token', peerClient, token))
  return underLoad({ origin: peer.origin, connections, prepareRound: cycle(requests), expected })
}

function refreshWith(path: string, client: Credentials, token: string): PrintedRequest {
  return formPost(path, client, { grant_type: 'refresh_token', refresh_token: token })
}

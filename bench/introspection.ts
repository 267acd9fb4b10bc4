/** RFC 7662: a client asks about a thousand living access tokens of its own. */
import { race } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { underLoad } from './load.ts'
import { peerClient, startInMemory } from './oidc-provider.ts'
import { cycle, formPost } from './requests.ts'

const expected = '"active":true'

export const introspection = race({
  name: 'introspection',
  unit: 'requests/s',
  async open(stage, source) {
    const gateway = await startGateway(stage, source)
    const ours = (await gateway.makeAccessTokens(holders)).map((token) =>
      formPost('/v1/oauth/introspect', gateway.client, { token }),
    )
    return {
      ours: underLoad({ origin: gateway.origin, prepareRound: cycle(ours), expected }),
      async openPeers() {
        const peer = await startInMemory(stage)
        const theirs = (await peer.ask<string[]>('accessTokens', holders)).map((token) =>
          formPost('/token/introspection', peerClient, { token }),
        )
        const side = underLoad({ origin: peer.origin, prepareRound: cycle(theirs), expected })
        return [{ against: 'oidc-provider, memory', goal: 3, side }]
      },
    }
  },
})

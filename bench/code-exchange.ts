/**
 * Spec 4.3: an authorization code for an access token and a refresh token, each code once, on disk when
 * answered.
 */
import { race } from './benchmark.ts'
import { callbackUrl } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { durableConnections as connections, type PrintedRequest, underLoad } from './load.ts'
import { peerClient, startInMemory, startOnPostgres } from './oidc-provider.ts'
import { type Credentials, formPost, useOnce } from './requests.ts'
import type { Side } from './rounds.ts'
import type { PeerProcess } from './server-process.ts'

/** More than either can do; what is left over costs only its making. */
export const mostPerSecond = { ours: 12_000, theirs: 6_000 }

export const codeExchange = race({
  name: 'code-exchange',
  unit: 'requests/s',
  async open(stage, source) {
    const gateway = await startGateway(stage, source)
    const makeOurs = async (count: number) =>
      (await gateway.makeCodes(count)).map((code) =>
        printExchange('/v1/oauth/accesstoken', gateway.client, code),
      )
    return {
      ours: underLoad({
        origin: gateway.origin,
        connections,
        prepareRound: useOnce(makeOurs, mostPerSecond.ours),
        expected: '"refresh_token":',
      }),
      openPeers: async () => [
        { against: 'oidc-provider, memory', goal: 2, side: peerSide(await startInMemory(stage)) },
        { against: 'oidc-provider, PostgreSQL', goal: 4, side: peerSide(await startOnPostgres(stage)) },
      ],
    }
  },
})

function peerSide(peer: PeerProcess): Side {
  const make = async (count: number) =>
    (await peer.ask<string[]>('codes', count)).map((code) => printExchange('/token', peerClient, code))
  return underLoad({
    origin: peer.origin,
    connections,
    prepareRound: useOnce(make, mostPerSecond.theirs),
    expected: '"refresh_token":',
  })
}

export function printExchange(path: string, client: Credentials, code: string): PrintedRequest {
  return formPost(path, client, { grant_type: 'authorization_code', code, redirect_uri: callbackUrl })
}

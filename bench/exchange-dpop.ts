/**
 * An authorization code for tokens that are bound to a key (RFC 9449), beside the same without: by a client
 * with a secret, and by one that signs who it is (private_key_jwt). Everything is signed ahead of its round.
 */
import { type Benchmark, race } from './benchmark.ts'
import { callbackUrl } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { durableConnections, underLoad } from './load.ts'
import { addKey, openSigner, readIssuer } from './proofs.ts'
import { formPost, type PrepareRound, publicFormPost } from './requests.ts'

const path = '/v1/oauth/accesstoken'
/** More than it can do. */
const mostPerSecond = 9_000

interface Way {
  readonly signsItself: boolean
  readonly proves: boolean
}

interface Other extends Way {
  readonly against: string
  readonly goal: number
}

function exchangeBeside(name: string, way: Way, others: readonly Other[]): Benchmark {
  return race({
    name,
    unit: 'requests/s',
    async open(stage, source) {
      const gateway = await startGateway(stage, source)
      const { client, origin } = gateway
      const signer = openSigner()
      await addKey(gateway, client, signer)
      const issuer = await readIssuer(origin)
      const print = ({ signsItself, proves }: Way, code: string) => {
        const headers = proves ? [`dpop: ${signer.prove('POST', issuer + path)}`] : []
        const fields = { grant_type: 'authorization_code', code, redirect_uri: callbackUrl }
        return signsItself
          ? publicFormPost(path, { ...fields, ...signer.assert(client.id, issuer) }, headers)
          : formPost(path, client, fields, headers)
      }
      const prepare =
        (each: Way): PrepareRound =>
        async (durationMs) => {
          const codes = await gateway.makeCodes(1 + Math.ceil((durationMs * mostPerSecond) / 1000))
          return codes.map((code) => print(each, code)).values()
        }
      const sideOf = (each: Way) =>
        underLoad({
          ...{ origin, connections: durableConnections, expected: '"refresh_token":' },
          prepareRound: prepare(each),
        })
      return {
        ours: sideOf(way),
        openPeers: async () =>
          others.map(({ against, goal, ...each }) => ({ against, goal, side: sideOf(each) })),
      }
    },
  })
}

const bySecret = { signsItself: false, proves: false, against: 'by secret, unbound' }
const byKey = { signsItself: true, proves: false, against: 'private_key_jwt, unbound' }

export const exchangeDpop = exchangeBeside('exchange-dpop', { signsItself: false, proves: true }, [
  { ...bySecret, goal: 0.5 },
])
export const exchangeKeyDpop = exchangeBeside('exchange-key-dpop', { signsItself: true, proves: true }, [
  { ...byKey, goal: 0.5 },
  { ...bySecret, goal: 0.3 },
])

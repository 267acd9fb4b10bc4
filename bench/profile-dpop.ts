/**
 * GET /v1/user/profile with a token that is bound to a key, a proof each (RFC 9449), signed ahead: in processor
 * time, beside the same without plus one and a half bare verifications of an ES256 signature.
 */
import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import type { Benchmark } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { underLoad } from './load.ts'
import { perProcessorSecond } from './meter.ts'
import { openSigner, readIssuer } from './proofs.ts'
import { bearerGet, cycle, type PrepareRound, tokenGet } from './requests.ts'
import { median } from './rounds.ts'

const path = '/v1/user/profile'
const rounds = 5
const verifications = 1.5
/** More than it can do. */
const mostPerSecond = 12_000
const verifiedAtOnce = 5_000

export const profileDpop: Benchmark = {
  name: 'profile-dpop',
  async run(stage) {
    const gateway = await startGateway(stage)
    const { origin, pid } = gateway
    const signer = openSigner()
    const url = (await readIssuer(origin)) + path
    const unbound = (await gateway.makeAccessTokens(holders)).map((token) => bearerGet(path, token))
    const bound = await gateway.makeAccessTokens(holders, signer.binding)
    const prove: PrepareRound = async (durationMs) => {
      const count = 1 + Math.ceil((durationMs * mostPerSecond) / 1000)
      const requests = Array.from({ length: count }, (_, index) => {
        const token = bound[index % bound.length]!
        return tokenGet(path, `DPoP ${token}`, [`dpop: ${signer.prove('GET', url, token)}`])
      })
      return requests.values()
    }
    const expected = '"accounts":[{'
    const without = perProcessorSecond(pid, underLoad({ origin, expected, prepareRound: cycle(unbound) }))
    const ours = perProcessorSecond(pid, underLoad({ origin, expected, prepareRound: prove }))
    const measured: { ours: number; limit: number }[] = []
    for (let round = 0; round <= rounds; round++) {
      const withoutUs = 1e6 / (await without.measure())
      const oursUs = 1e6 / (await ours.measure())
      const verifyUs = measureVerification()
      measured.push({ ours: oursUs, limit: withoutUs + verifications * verifyUs })
      process.stderr.write(
        `profile-dpop: ${oursUs.toFixed(1)} µs; without ${withoutUs.toFixed(1)}, a verification ${verifyUs.toFixed(1)}\n`,
      )
    }
    // The first round warms up.
    measured.shift()
    return [
      {
        name: 'profile-dpop',
        against: `without, and ${verifications} verifications`,
        ratio: median(measured.map((each) => each.ours / each.limit)),
        ...{ goal: 1, atMost: true, unit: 'µs of the processor' },
        ours: median(measured.map((each) => each.ours)),
        theirs: median(measured.map((each) => each.limit)),
      },
    ]
  },
}

/** Microseconds of the processor that node:crypto needs for one signature of as many bytes as a proof's. */
function measureVerification(): number {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signed = randomBytes(450)
  const dsaEncoding = 'ieee-p1363'
  const signature = sign('sha256', signed, { key: privateKey, dsaEncoding })
  const before = process.cpuUsage()
  for (let done = 0; done < verifiedAtOnce; done++)
    if (!verify('sha256', signed, { key: publicKey, dsaEncoding }, signature)) throw new Error('not verified')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / verifiedAtOnce
}

/**
 * What a process keeps of the proofs that it took at resources: ten minutes of 10,000 a second, by a clock that
 * is set, and how long taking one lasts.
 */
import { minute, second } from '../src/clock.ts'
import { fingerprint } from '../src/crypto/hash.ts'
import { openSpentProofs } from '../src/oauth/spent-proofs.ts'
import type { Benchmark } from './benchmark.ts'
import { withinLimit } from './report.ts'

const perSecond = 10_000
const simulatedMs = 10 * minute
const limits = { mib: 64, meanUs: 2, longestMs: 20 }

export const spentProofs: Benchmark = {
  name: 'spent-proofs',
  async run() {
    let nowMs = Date.now()
    const proofs = openSpentProofs({ now: () => new Date(nowMs) })
    const [mostBytes, tookMs, longestMs] = [{ value: 0 }, { value: 0 }, { value: 0 }]
    const endMs = nowMs + simulatedMs
    for (let n = 0; nowMs < endMs; nowMs += second) {
      const hashes = Array.from({ length: perSecond }, () => fingerprint(String(n++)))
      for (const hash of hashes) {
        const begunMs = performance.now()
        if (!proofs.spend(hash)) throw new Error('A new proof was taken for one of before.')
        const eachMs = performance.now() - begunMs
        tookMs.value += eachMs
        longestMs.value = Math.max(longestMs.value, eachMs)
      }
      mostBytes.value = Math.max(mostBytes.value, proofs.bytes)
    }
    const count = (simulatedMs / second) * perSecond
    return [
      withinLimit('spent-proofs: memory', mostBytes.value / 2 ** 20, limits.mib, 'MiB'),
      withinLimit('spent-proofs: taking one', (tookMs.value * 1000) / count, limits.meanUs, 'µs'),
      withinLimit('spent-proofs: the longest', longestMs.value, limits.longestMs, 'ms'),
    ]
  },
}

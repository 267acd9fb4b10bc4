/**
 * Nonces of DPoP (RFC 9449, 8): a proof that holds one was made lately. Nothing is kept of them: each follows
 * from a key of the vault and half a minute of the clock that all nodes share.
 */
import { type Clock, second } from '../clock.ts'
import { hmacSha256 } from '../crypto/hash.ts'
import type { Vault } from '../crypto/vault.ts'
import type { NonceJudge } from './dpop.ts'

const bucketMs = 30 * second

export interface DpopNonces extends NonceJudge {
  current(): string
}

export function openDpopNonces(vault: Vault, clock: Clock, purpose: string): DpopNonces {
  let known: { readonly bucket: number; readonly ids: string; readonly nonces: readonly string[] } | undefined
  /** The first is the one to hand out; a node may be a moment ahead, and its newest key the other's oldest. */
  function nonces(): readonly string[] {
    const bucket = Math.floor(clock.now().getTime() / bucketMs)
    const ids = vault.keyIds.join()
    if (known?.bucket !== bucket || known.ids !== ids) {
      const keys = vault.derive(purpose)
      const ofBucket = (each: number) =>
        keys.map((key) => hmacSha256(key, String(each)).subarray(0, 16).toString('base64url'))
      known = { bucket, ids, nonces: [bucket, bucket - 1, bucket + 1].flatMap(ofBucket) }
    }
    return known.nonces
  }
  return { current: () => nonces()[0]!, isGood: (nonce) => nonces().includes(nonce) }
}

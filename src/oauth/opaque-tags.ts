/**
 * What bearers depend on, in words that only one service of the brokerage knows them by: the tags by which
 * nodes hear of changes, each as a keyed hash. A service compares them, and learns from them neither numbers
 * nor names; what two services hear cannot be laid beside each other.
 */
import { hmacSha256, signText } from '../crypto/hash.ts'
import type { Vault } from '../crypto/vault.ts'

export interface OpaqueTags {
  /** The same object for as long as the service's words stay the same. */
  ofService(id: string): ServiceTags
}

export interface ServiceTags {
  /**
   * Of the service itself. Answers that carry another were given under other keys, or to somebody else: no
   * change of theirs is told in these words.
   */
  readonly own: string
  print(tag: string): string
}

/** 96 bits: nobody meets another's by chance. */
const length = 16

export function openOpaqueTags(vault: Vault): OpaqueTags {
  const known = new Map<string, ServiceTags>()
  let keyId = ''
  return {
    ofService(id) {
      if (keyId !== vault.currentKeyId) known.clear()
      keyId = vault.currentKeyId
      const made = known.get(id) ?? makeTags(vault.derive('opaque-tags')[0], id)
      known.set(id, made)
      return made
    },
  }
}

function makeTags(derived: Buffer, serviceId: string): ServiceTags {
  const key = hmacSha256(derived, serviceId)
  const print = (tag: string) => signText(key, tag, 'base64').slice(0, length)
  // Every listener of a service asks for the same tag in turn.
  let last = { tag: '', text: '' }
  const printOnce = (tag: string) => {
    if (last.tag !== tag) last = { tag, text: print(tag) }
    return last.text
  }
  return { own: print(`service:${serviceId}`), print: printOnce }
}

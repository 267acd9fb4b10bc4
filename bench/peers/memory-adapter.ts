/**
 * oidc-provider's storage in memory, without the limit of a thousand entries that its own has. Nothing
 * survives the process.
 */
import type { Adapter, AdapterFactory, Payload } from 'oidc-provider'

export function openMemoryAdapter(): AdapterFactory {
  const idsByGrant = new Map<string, [store: Map<string, Payload>, id: string][]>()
  return (): Adapter => {
    const store = new Map<string, Payload>()
    return {
      async upsert(id, payload) {
        store.set(id, payload)
        if (payload.grantId === undefined) return
        const siblings = idsByGrant.get(payload.grantId)
        if (siblings) siblings.push([store, id])
        else idsByGrant.set(payload.grantId, [[store, id]])
      },
      find: async (id) => store.get(id),
      async consume(id) {
        store.get(id)!.consumed = Math.floor(Date.now() / 1000)
      },
      async destroy(id) {
        store.delete(id)
      },
      async revokeByGrantId(grantId) {
        for (const [siblings, id] of idsByGrant.get(grantId) ?? []) siblings.delete(id)
        idsByGrant.delete(grantId)
      },
    }
  }
}

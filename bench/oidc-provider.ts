/** oidc-provider beside the gateway, in memory or on a PostgreSQL of the same kind as ours. */
import { startPostgres } from './postgres.ts'
import type { Credentials } from './requests.ts'
import { type PeerProcess, startPeer } from './server-process.ts'
import type { Stage } from './stage.ts'

const program = new URL('peers/oidc-provider.ts', import.meta.url)

export const peerClient: Credentials = { id: 'benchClientWith24Letters', secret: 'a'.repeat(53) }

export function startInMemory(stage: Stage): Promise<PeerProcess> {
  return startPeer(stage, program, ['memory'])
}

export async function startOnPostgres(stage: Stage): Promise<PeerProcess> {
  return startPeer(stage, program, [await startPostgres(stage)])
}

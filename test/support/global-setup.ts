import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { prepareCluster } from './copied-cluster.ts'
import { announceServer, openTestServer, type TestServer } from './database.ts'

let server: TestServer

/** Compiled once for all the processes of a run; a second run finds it there. */
const compiled = join(tmpdir(), `countersign-compiled-${userInfo().uid}`)

/** Several files run at once, and some have three nodes of twenty connections each. */
const connections = 300

export async function globalSetup(): Promise<void> {
  process.env.NODE_COMPILE_CACHE ??= compiled
  await prepareCluster()
  server = await openTestServer({ connections })
  announceServer(server)
}

export async function globalTeardown(): Promise<void> {
  await server.close()
}

/**
 * The folder of a private PostgreSQL as a first start makes and migrates it, made once for a run and copied
 * from then on: a server that begins with a copy is as good as one that begins with nothing, for whoever does
 * not ask about the beginning, and costs a twentieth.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { homeOf } from '../../src/database/cluster.ts'
import { migrate } from '../../src/database/migrations.ts'
import { openPrivateServer } from '../../src/database/private-server.ts'
import { newFolder } from './folder.ts'
import { openLenientDatabase } from './lenient-database.ts'

const variable = 'COUNTERSIGN_TEST_CLUSTER'

/** For this process and those that it starts; it is gone when this one ends. */
export async function prepareCluster(): Promise<void> {
  const dataDir = newFolder('cluster')
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const server = await openPrivateServer({ dataDir, purpose: 'serve', searchPath: process.env.PATH ?? '' })
  const db = openLenientDatabase({ connectionString: server.connectionString, connections: 1 })
  await migrate(db)
  await db.close()
  await server.close()
  process.env[variable] = clusterFolderOf(dataDir)
}

/** The same data folder, with a server's in it that is migrated and at rest. */
export async function withCluster(dataDir: string): Promise<string> {
  if (!process.env[variable]) await prepareCluster()
  mkdirSync(homeOf(dataDir), { recursive: true, mode: 0o700 })
  // With its owner and its modes, which PostgreSQL looks at.
  execFileSync('cp', ['-a', process.env[variable]!, clusterFolderOf(dataDir)])
  return dataDir
}

function clusterFolderOf(dataDir: string): string {
  return join(homeOf(dataDir), 'cluster')
}

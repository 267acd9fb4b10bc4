/** A PostgreSQL of the same kind as the gateway's, for whoever stands beside it. */
import { type Database, statement } from '../src/database/database.ts'
import { openPrivateServer } from '../src/database/private-server.ts'
import { readParent } from './costs/processor-time.ts'
import type { Stage } from './stage.ts'

export async function startPostgres(stage: Stage): Promise<string> {
  const server = await openPrivateServer({
    dataDir: stage.makeFolder(),
    purpose: 'serve',
    searchPath: process.env.PATH ?? '',
  })
  stage.owns(() => server.close())
  return server.connectionString
}

const selectBackend = statement('bench_backend', 'SELECT pg_backend_pid() AS pid')

/** The process from which those of all connections come. */
export async function findPostgresPid(db: Database): Promise<number> {
  const [backend] = await db.query<{ pid: number }>(selectBackend)
  return readParent(backend!.pid)
}

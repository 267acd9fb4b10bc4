/** A PostgreSQL of the same kind as the gateway's, for whoever stands beside it. */
import { openPrivateServer } from '../src/database/private-server.ts'
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

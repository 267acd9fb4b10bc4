/** The gateway under test: the real one, as `countersign serve` starts it, with its private PostgreSQL. */
import { join } from 'node:path'
import { openVault } from '../src/crypto/vault.ts'
import { openDatabase } from '../src/database/database.ts'
import { type Brokerage, fillBrokerage } from './brokerage.ts'
import { findFreePort, startServer } from './server-process.ts'
import type { Stage } from './stage.ts'

export interface GatewayUnderTest extends Brokerage {
  readonly origin: string
}

export async function startGateway(stage: Stage): Promise<GatewayUnderTest> {
  const dataDir = stage.makeFolder()
  const port = await findFreePort()
  const origin = `http://127.0.0.1:${port}`
  await startServer(stage, {
    program: new URL('../src/cli/main.ts', import.meta.url),
    args: ['serve'],
    env: {
      HOST: '127.0.0.1',
      PORT: String(port),
      SANDBOX_PORT: String(await findFreePort()),
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
      RATE_LIMIT_PER_MINUTE: '0',
    },
    origin,
    readyPath: '/readyz',
  })
  const socketFolder = encodeURIComponent(join(dataDir, 'postgres', 'socket'))
  const db = openDatabase({ connectionString: `postgresql://countersign@/countersign?host=${socketFolder}` })
  stage.owns(() => db.close())
  const vault = openVault({ kind: 'file', path: join(dataDir, 'secret.keys') })
  return { origin, ...(await fillBrokerage(db, vault)) }
}

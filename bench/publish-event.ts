/**
 * A core's own transaction that publishes with `publish_event`, beside the same one with a plain INSERT of
 * the body.
 */

import { join } from 'node:path'
import { openVault } from '../src/crypto/vault.ts'
import { openDatabase } from '../src/database/database.ts'
import { migrate } from '../src/database/migrations.ts'
import { type Benchmark, toRow } from './benchmark.ts'
import { startPostgres } from './postgres.ts'
import { makeBranch } from './publisher.ts'
import { compare } from './rounds.ts'
import { startPeer } from './server-process.ts'

const roundMs = 2_000

/** No node runs: it is the statement that is measured, not what becomes of the event. */
export const publishEvent: Benchmark = {
  name: 'publish-event',
  async run(stage) {
    const connectionString = await startPostgres(stage)
    const db = openDatabase({ connectionString })
    stage.owns(() => db.close())
    await migrate(db)
    const vault = openVault({ kind: 'file', path: join(stage.makeFolder(), 'secret.keys') })
    const branchId = await makeBranch({ db, vault }, [])
    const program = new URL('peers/transactions.ts', import.meta.url)
    const core = await startPeer(stage, program, [connectionString, String(branchId)])
    const [comparison] = await compare({ measure: () => core.ask('publish', roundMs) }, [
      { measure: () => core.ask('insert', roundMs) },
    ])
    const name = 'publish-event, 16 connections'
    return [toRow({ name, against: 'a plain INSERT', goal: 0.6, unit: 'transactions/s' }, comparison!)]
  },
}

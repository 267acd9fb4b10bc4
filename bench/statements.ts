/** How many SQL statements a delivery costs at load, counted by PostgreSQL itself. */
import { statement } from '../src/database/database.ts'
import type { Benchmark } from './benchmark.ts'
import { startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { urlOf, webhooks } from './peers/post.ts'
import { makeBranch, makeEvent, makePublisher, publishRequest } from './publisher.ts'
import { startReceiver } from './receiver.ts'
import { withinLimit } from './report.ts'
import { openStage } from './stage.ts'

const events = 200
const limit = 0.1
const countCalls = statement('bench_count_calls', 'SELECT sum(calls)::float8 AS calls FROM pg_stat_statements')

export const statements: Benchmark = {
  name: 'statements',
  async run(stage) {
    const dataDir = stage.makeFolder()
    await preloadCounter(dataDir)
    const receiver = await startReceiver(stage)
    const gateway = await startEmptyGateway(stage, dataDir)
    await gateway.db.script('CREATE EXTENSION pg_stat_statements')
    const urls = Array.from({ length: webhooks }, (_, index) => urlOf(receiver.origin, index))
    const branchId = await makeBranch(gateway, urls)
    const publisher = await makePublisher(gateway)
    const deliver = async () => {
      const all = Array.from({ length: events }, () => makeEvent(branchId))
      await Promise.all([send(gateway.origin, publishRequest(publisher, all)), receiver.awaitMore(events * webhooks)])
    }
    await deliver()
    await gateway.db.script('SELECT pg_stat_statements_reset()')
    await deliver()
    const [counted] = await gateway.db.query<{ calls: number }>(countCalls)
    return [withinLimit('statements', counted!.calls / (events * webhooks), limit, 'SQL statements a delivery')]
  },
}

/** PostgreSQL counts statements only when it was told so before it started. */
async function preloadCounter(dataDir: string): Promise<void> {
  const stage = openStage()
  try {
    const { db } = await startEmptyGateway(stage, dataDir)
    await db.script("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
  } finally {
    await stage.close()
  }
}

/** How many SQL statements a delivery costs at load, counted by PostgreSQL itself. */
import { ask } from '../test/support/ask.ts'

import type { Benchmark, Course } from './benchmark.ts'
import { startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { urlOf, webhooks } from './peers/post.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { startReceiver } from './receiver.ts'
import { withinLimit } from './report.ts'
import { here, type Source } from './source.ts'
import { openStage, type Stage } from './stage.ts'

const events = 200
const limit = 0.1
const unit = 'SQL statements a delivery'
export const countCalls = 'SELECT sum(calls)::float8 AS calls FROM pg_stat_statements'

export const statements: Benchmark = {
  name: 'statements',
  async run(stage) {
    const course = await openCounting(stage, here)
    await course.measure()
    const [counted] = await course.measure()
    return [withinLimit('statements', counted!.value, limit, unit)]
  },
  openCourse: openCounting,
}

async function openCounting(stage: Stage, source: Source): Promise<Course> {
  const dataDir = stage.makeFolder()
  await preloadCounter(source, dataDir)
  const receiver = await startReceiver(stage)
  const gateway = await startEmptyGateway(stage, { source, dataDir })
  await gateway.db.script('CREATE EXTENSION pg_stat_statements')
  const branchId = await gateway.makeBranch(
    Array.from({ length: webhooks }, (_, n) => urlOf(receiver.origin, n)),
  )
  const publisher = await gateway.makePublisher()
  return {
    async measure() {
      await gateway.db.script('SELECT pg_stat_statements_reset()')
      const all = Array.from({ length: events }, () => makeEvent(branchId))
      await Promise.all([
        send(gateway.internal, publishRequest(publisher, all)),
        receiver.awaitMore(events * webhooks),
      ])
      const [counted] = await ask<{ calls: number }>(gateway.db, countCalls)
      return [{ name: 'statements', value: counted!.calls / (events * webhooks), unit, isCost: true }]
    },
  }
}

/** PostgreSQL counts statements only when it was told so before it started. */
export async function preloadCounter(source: Source, dataDir: string): Promise<void> {
  const stage = openStage()
  try {
    const { db } = await startEmptyGateway(stage, { source, dataDir })
    await db.script("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
  } finally {
    await stage.close()
  }
}

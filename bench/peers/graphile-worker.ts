/** graphile-worker: a job a delivery, added in one statement, each retried by itself. */
import { makeWorkerUtils, run } from 'graphile-worker'
import { announce } from './announce.ts'
import { body, post, urlOf } from './post.ts'

const [connectionString, receiver] = process.argv.slice(2) as [string, string]
const concurrency = Number(process.env.CONC ?? 24)

const utils = await makeWorkerUtils({ connectionString })
await utils.migrate()
await run({
  connectionString,
  concurrency,
  maxPoolSize: concurrency + 2,
  noHandleSignals: true,
  taskList: { deliver: (payload) => post((payload as { url: string }).url, (payload as { body: string }).body) },
  ...(process.env.TUNED && { preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0 } } as any }),
})
announce('', async ({ count }) => {
  const jobs = Array.from({ length: count }, (_, index) => ({
    identifier: 'deliver',
    payload: { url: urlOf(receiver, index), body },
  }))
  await utils.addJobs(jobs)
})

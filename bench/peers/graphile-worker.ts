/**
 * graphile-worker as its manual sets it up: a job a delivery, added in one statement, each run and retried by
 * itself.
 */
import { makeWorkerUtils, run } from 'graphile-worker'
import { announce } from './announce.ts'
import { body, post, urlOf } from './post.ts'

const [connectionString, receiver] = process.argv.slice(2) as [string, string]
/** More of them were slower. */
const concurrency = 10

interface Job {
  readonly url: string
  readonly body: string
}

const utils = await makeWorkerUtils({ connectionString })
await utils.migrate()
await run({
  connectionString,
  concurrency,
  maxPoolSize: concurrency + 2,
  noHandleSignals: true,
  taskList: { deliver: (job) => post((job as Job).url, (job as Job).body) },
})
announce('', async ({ count }) => {
  const payloads = Array.from({ length: count }, (_, index): Job => ({ url: urlOf(receiver, index), body }))
  await utils.addJobs(payloads.map((payload) => ({ identifier: 'deliver', payload })))
})

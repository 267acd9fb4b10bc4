/**
 * pg-boss with fetches of twenty, because one at a time it waits for its clock between jobs: a job a
 * delivery, inserted in one statement, each settled and retried by itself.
 */
import { type Job, PgBoss } from 'pg-boss'
import { announce } from './announce.ts'
import { body, post, urlOf } from './post.ts'

const [connectionString, receiver] = process.argv.slice(2) as [string, string]
const localConcurrency = 4
const batchSize = 20
const queue = 'deliveries'

interface Delivery {
  readonly url: string
  readonly body: string
}

const boss = new PgBoss({ connectionString, max: localConcurrency + 2 })
boss.on('error', () => {})
await boss.start()
await boss.createQueue(queue)
const options = {
  localConcurrency,
  batchSize,
  perJobResults: true,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
} as const
await boss.work<Delivery>(queue, options, (jobs) => Promise.all(jobs.map(deliver)))
announce('', async ({ count }) => {
  const jobs = Array.from({ length: count }, (_, index) => ({ data: { url: urlOf(receiver, index), body } }))
  await boss.insert(queue, jobs)
})

async function deliver({ id, data }: Job<Delivery>) {
  await post(data.url, data.body)
  return { id, status: 'completed' as const }
}

/** pg-boss: a job a delivery, inserted in one statement, each retried by itself. */
import { PgBoss } from 'pg-boss'
import { announce } from './announce.ts'
import { body, post, urlOf } from './post.ts'

const [connectionString, receiver] = process.argv.slice(2) as [string, string]
const concurrency = Number(process.env.CONC ?? 24)
const queue = 'deliveries'

const boss = new PgBoss({ connectionString, max: concurrency + 2 })
boss.on('error', () => {})
await boss.start()
await boss.createQueue(queue)
const opts: any = {
  localConcurrency: concurrency,
  pollingIntervalSeconds: 0.5,
  burstWhenReadyExceeds: 1,
  ...(process.env.BATCH && { batchSize: Number(process.env.BATCH), burstWhenBatchFull: true, perJobResults: true }),
}
await boss.work<{ url: string; body: string }>(queue, opts, async (jobs: any) => {
  const out = await Promise.all(
    jobs.map((job: any) => post(job.data.url, job.data.body).then(() => ({ id: job.id, status: 'completed' }))),
  )
  return out as any
})
announce('', async ({ count }) => {
  const jobs = Array.from({ length: count }, (_, index) => ({ data: { url: urlOf(receiver, index), body } }))
  await boss.insert(queue, jobs)
})

/** An API of the brokerage: one route of Fastify, protected by @countersign/resource. */
import fastify from 'fastify'
import { type BearerEvent, openBearers } from '../../resource/src/bearers.ts'
import { requireAccess } from '../../resource/src/fastify.ts'
import { announce } from './announce.ts'

const [path, options] = process.argv.slice(2) as [string, string]

const opened = Promise.withResolvers<void>()
const bearers = openBearers({
  ...JSON.parse(options),
  onEvent(event: BearerEvent) {
    if (event.kind === 'feed-opened') opened.resolve()
    if (event.kind === 'failed') process.stderr.write(`${event.error.message} ${event.error.cause}\n`)
  },
})
const app = fastify()
app.get(path, { onRequest: requireAccess(bearers, { scope: 'read' }) }, (_request, reply) =>
  reply.send({ positions: [{ symbol: 'ACME', quantity: '100' }] }),
)
const origin = await app.listen({ host: '127.0.0.1', port: 0 })
await opened.promise
announce(origin)

/** An API of the brokerage: one route of Fastify, protected by @countersign/resource or not at all. */
import fastify from 'fastify'
import { type BearerEvent, type BearerOptions, openBearers } from '../../resource/src/bearers.ts'
import { requireAccess } from '../../resource/src/fastify.ts'
import { announce } from './announce.ts'

const [path, options] = process.argv.slice(2) as [string, string | undefined]

/** With its feed open. */
async function openProtection(given: BearerOptions) {
  const opened = Promise.withResolvers<void>()
  const bearers = openBearers({
    ...given,
    onEvent(event: BearerEvent) {
      if (event.kind === 'feed-opened') opened.resolve()
      if (event.kind === 'failed') process.stderr.write(`${event.error.message} ${event.error.cause}\n`)
    },
  })
  await opened.promise
  return { onRequest: requireAccess(bearers, { scope: 'read' }) }
}

const app = fastify()
app.get(path, options === undefined ? {} : await openProtection(JSON.parse(options)), (_request, reply) =>
  reply.send({ positions: [{ symbol: 'ACME', quantity: '100' }] }),
)
announce(await app.listen({ host: '127.0.0.1', port: 0 }))

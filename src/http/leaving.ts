import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * Tells of callers who left before their answer was finished. Fastify's own hook hears of them only while a
 * body is unread.
 */
export function hearOfLeaving(app: FastifyInstance, left: (request: FastifyRequest) => void): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) left(request)
    })
    done()
  })
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

type LeavingListener = (request: FastifyRequest, reply: FastifyReply) => void

/** Of each server: one listener a request, however many want to hear. */
const listeners = new WeakMap<FastifyInstance, LeavingListener[]>()

/**
 * Tells of callers who left before their answer was finished. Fastify's own hook hears of them only while a
 * body is unread.
 */
export function hearOfLeaving(app: FastifyInstance, left: LeavingListener): void {
  const known = listeners.get(app)
  if (known) {
    known.push(left)
    return
  }
  const all = [left]
  listeners.set(app, all)
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) for (const each of all) each(request, reply)
    })
    done()
  })
}

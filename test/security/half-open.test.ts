/** A connection whose request was refused by hand ends, also when its client never closes its side. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { openBareServer } from '../support/bare-server.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'

/** Who dawdles is answered soon; what is only read late by a busy machine is not taken for it. */
const [hasty, slow] = [await openServer({ requestTimeoutMs: 300 }), await openServer({})]

async function openServer(limits: Parameters<typeof openBareServer>[1]): Promise<FastifyInstance> {
  const app = await keepOpen(openBareServer({}, limits))
  app.post('/read', () => 'read')
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app
}

const countConnections = (app: FastifyInstance) =>
  new Promise<number>((resolve, reject) =>
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

for (const [app, what, bytes, status] of [
  [slow, 'what is no HTTP', 'NONSENSE\r\n\r\n', 400],
  [
    hasty,
    'a body that does not come',
    'POST /read HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n',
    408,
  ],
  [hasty, 'a head that does not end', 'GET /healthz HTTP/1.1\r\nhost: h\r\n', 408],
] as const) {
  test(`${what} is answered ${status}, and its connection is not kept for whoever never closes it`, async () => {
    const { port } = app.server.address() as { port: number }
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    socket.on('error', () => {})
    socket.write(bytes)
    const [answer] = await once(socket.setEncoding('utf8'), 'data')
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status}`))
    await eventually('the connection is gone', async () => (await countConnections(app)) === 0)
    socket.destroy()
  })
}

/** The least a Fastify server can do: one route that answers the bytes it was started with. */
import fastify from 'fastify'
import { announce } from './announce.ts'

const [path, bytes] = process.argv.slice(2) as [string, string]

const app = fastify()
app.get(path, (_request, reply) => reply.type('application/json; charset=utf-8').send(bytes))
announce(await app.listen({ host: '127.0.0.1', port: 0 }))

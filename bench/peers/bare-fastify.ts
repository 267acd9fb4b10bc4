/** The least a Fastify server can do: one route that answers, from constants, the bytes it was shown. */
import fastify from 'fastify'
import type { ReadAnswer } from '../load.ts'
import { announce } from './announce.ts'

const [path, shown] = process.argv.slice(2) as [string, string]
const { headers, text }: ReadAnswer = JSON.parse(shown)

/** Node writes these itself. */
const written = ['connection', 'content-length', 'date', 'keep-alive']
const same = Object.fromEntries(Object.entries(headers).filter(([name]) => !written.includes(name)))

const app = fastify()
app.get(path, (_request, reply) => reply.headers(same).send(text || undefined))
announce(await app.listen({ host: '127.0.0.1', port: 0 }))

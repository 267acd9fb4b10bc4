/**
 * Authenticated uploads get an idle timeout instead of the total request timeout: they may be of any length,
 * but a client must not fall silent for longer than this.
 */
import type { FastifyRequest } from 'fastify'
import { Problem } from '../problem.ts'

/** Sockets whose request is under the idle timeout now. */
const idleTimed = new WeakSet<object>()

export function hasIdleTimeout(socket: object): boolean {
  return idleTimed.has(socket)
}

/** The body of a request as it comes, whatever its length. */
export async function* readWithIdleTimeout(
  { raw }: FastifyRequest,
  idleTimeoutMs: number,
): AsyncGenerator<Buffer> {
  const { socket } = raw
  idleTimed.add(socket)
  const timer = setTimeout(() => raw.destroy(tooSlow()), idleTimeoutMs)
  try {
    for await (const chunk of raw) {
      clearTimeout(timer)
      yield chunk as Buffer
      timer.refresh()
    }
    if (!raw.complete) throw brokenOff()
  } catch (error) {
    throw error instanceof Problem ? error : brokenOff()
  } finally {
    clearTimeout(timer)
    idleTimed.delete(socket)
  }
}

const tooSlow = () => new Problem(408, 'invalid_request', 'Nothing more of the request came for too long.')
const brokenOff = () => new Problem(400, 'invalid_request', 'The request ended before its body did.')

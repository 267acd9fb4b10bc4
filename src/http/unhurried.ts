/**
 * A request has so many seconds to arrive, but for those that are known and may be as long as they like: they
 * must not fall silent for as long.
 */
import type { FastifyRequest } from 'fastify'
import { Problem } from '../problem.ts'

const unhurried = new WeakSet<object>()

export function isUnhurried(socket: object): boolean {
  return unhurried.has(socket)
}

/** The body of a request as it comes, whatever its length. */
export async function* readUnhurried({ raw }: FastifyRequest, silentMs: number): AsyncGenerator<Buffer> {
  const { socket } = raw
  unhurried.add(socket)
  const timer = setTimeout(() => raw.destroy(tooSlow()), silentMs)
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
    unhurried.delete(socket)
  }
}

const tooSlow = () => new Problem(408, 'invalid_request', 'Nothing more of the request came for too long.')
const brokenOff = () => new Problem(400, 'invalid_request', 'The request ended before its body did.')

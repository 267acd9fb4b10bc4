/** An answer that goes on: the head of an event stream, and an end that no client can hold back. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

const endTimeoutMs = 1_000

export function openEventStream(request: FastifyRequest, reply: FastifyReply): ServerResponse {
  reply.hijack()
  const out = reply.raw
  // One that waits behind another answer of its connection does not notice by itself that this has gone.
  request.raw.socket.once('close', () => out.destroy())
  out.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    // A stream is its connection's last answer: when it ends, nothing keeps the gateway from closing.
    connection: 'close',
    'x-request-id': request.id,
  })
  return out
}

/** For a client that may read no more: what it has not taken yet it does not get. */
export function cutEventStream(out: ServerResponse): void {
  if (out.writableLength > 0) out.destroy()
  else endEventStream(out)
}

/** A client that does not read would hold the end back for ever. */
export function endEventStream(out: ServerResponse): void {
  if (out.writableEnded || out.destroyed) return
  const timer = setTimeout(() => out.destroy(), endTimeoutMs)
  out.once('close', () => clearTimeout(timer))
  out.end()
}

/** Until a slow reader has taken what was written, or nobody reads any more. */
export function drained(out: ServerResponse, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      out.off('drain', done)
      out.off('close', done)
      over.removeEventListener('abort', done)
      resolve()
    }
    if (out.destroyed || over.aborted) return resolve()
    out.on('drain', done)
    out.on('close', done)
    over.addEventListener('abort', done)
  })
}

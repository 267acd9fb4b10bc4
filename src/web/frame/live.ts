/**
 * A page that changes by itself. It is asked for at its own address as an event stream, and sends its
 * changing part whenever that differs from what was sent before. It ends with the right to see it, and does
 * not keep a session alive.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { endEventStream, openEventStream } from '../../http/event-stream.ts'
import { type StandingCheck, watchStanding } from '../../http/standing.ts'
import { TooManyRequests } from '../../problem.ts'
import { type Html, html } from './html.ts'
import { placeOf } from './place.ts'
import type { Visit } from './visit.ts'

const lookEveryMs = 1_000
/** However much happens. */
const lookAgainAfterMs = 250
const heartbeatMs = 15_000
const retrySeconds = 30

export function asksForStream(request: FastifyRequest): boolean {
  return request.headers.accept === 'text/event-stream'
}

/** The part of a page that `streamPart` sends anew. */
export function livePart({ address }: Pick<Visit, 'address'>, part: Html): Html {
  return html`<div data-live="${address}">${part}</div>`
}

/** A user who looks at a page that changes. */
export interface Watcher {
  /** Users who share it may have so many such pages open at once. */
  readonly place: string
  /** Whether they may still see it. */
  readonly judge: StandingCheck
}

export async function streamPart(
  visit: Visit,
  watcher: Watcher,
  print: () => Promise<Html>,
): Promise<unknown> {
  const { context, request, reply } = visit
  // What is not there is refused while that can still be said.
  await print()
  const leave = await context.streams.take(watcher.place)
  if (!leave) throw new TooManyRequests('Too many such pages are open at once.', retrySeconds)
  const out = openEventStream(request, reply)
  const watch = watchStanding(context, watcher.judge)
  watch.over.addEventListener('abort', () => {
    if (watch.isRefused()) out.write('event: over\ndata: it may no longer be seen\n\n')
    endEventStream(out)
  })
  try {
    await sendChanges(visit, watch.over, print)
  } catch (error) {
    context.log.warn({ err: error, request_id: request.id }, 'live page ended')
  } finally {
    leave()
    watch.close()
    endEventStream(out)
  }
  return reply
}

async function sendChanges(visit: Visit, over: AbortSignal, print: () => Promise<Html>): Promise<void> {
  const { context, reply } = visit
  const { zone } = placeOf(reply)
  const out = reply.raw
  const { eventSignal } = context
  let sent = ''
  let wroteAt = performance.now()
  const write = (text: string) => {
    out.write(text)
    wroteAt = performance.now()
  }
  while (!out.destroyed && !over.aborted) {
    const text = (await print()).in(zone)
    if (over.aborted) return
    // A browser that reads slowly gets the newest when there is room, not everything in between.
    if (text !== sent && !out.writableNeedDrain) {
      sent = text
      write(`data: ${JSON.stringify(text)}\n\n`)
    } else if (performance.now() - wroteAt > heartbeatMs) write(': still here\n\n')
    const again = wait(lookAgainAfterMs, undefined, { signal: over }).catch(() => {})
    await Promise.all([eventSignal.wait(lookEveryMs, over), again])
  }
}

/**
 * The branch's log, for partners who pull: numbered without a gap, so that a missing number proves a missing event. As pages, or,
 * with `Accept: text/event-stream`, as a stream that resumes by `Last-Event-ID`.
 */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Context } from '../../context.ts'
import { cutEventStream, endEventStream, openEventStream } from '../../http/event-stream.ts'
import { watchStanding } from '../../http/standing.ts'
import { TooManyRequests } from '../../problem.ts'
import { findLogBounds, type LoggedEvent, printEventId, readLog } from '../../webhooks/event.ts'
import type { BranchCaller } from '../gates.ts'
import type { Endpoint } from '../route.ts'
import { limitOf, PageQuery, problems, webhookSchema } from './webhook-resource.ts'

const streamPage = 100
const lookEveryMs = 1_000
const heartbeatMs = 15_000
const retrySeconds = 5

const EventBody = Type.Object({
  sequence: Type.Integer(),
  eventId: Type.String(),
  kind: Type.String(),
  action: Type.String(),
  entity: Type.String(),
  simulated: Type.Boolean(),
  createdAt: Type.Integer(),
  body: Type.String({ description: 'the payload, byte for byte as it is delivered' }),
})

export const pullEvents: Endpoint<BranchCaller> = {
  schema: {
    ...webhookSchema,
    summary: 'Events of the branch after a sequence number, as a page or as a stream',
    querystring: Type.Object({
      after: Type.Optional(
        Type.String({ pattern: '^\\d{1,15}$', description: 'the last sequence number you have; 0 from the beginning' }),
      ),
      limit: PageQuery.limit,
    }),
    response: {
      200: Type.Object({
        events: Type.Array(EventBody),
        after: Type.Integer({ description: 'pass it as `after` for the next page' }),
        oldest: Type.Integer({ description: 'the oldest number that is still kept' }),
        newest: Type.Integer({ description: 'the newest number given' }),
      }),
      ...problems,
    },
  },
  async handle(context, caller, request, reply) {
    const query = request.query as { after?: string; limit?: string }
    const resumed = request.headers['last-event-id']
    const start = Number(typeof resumed === 'string' && /^\d{1,15}$/.test(resumed) ? resumed : (query.after ?? 0))
    if (request.headers.accept?.includes('text/event-stream')) {
      const leave = context.streams.take(`${caller.environment} ${caller.branchId}`)
      if (!leave)
        throw new TooManyRequests('This branch has as many streams open as it may have. Close one.', retrySeconds)
      return stream(context, caller, start, request, reply).finally(leave)
    }
    const events = await readLog(context.db, caller, start, limitOf(query))
    const { first, last } = await findLogBounds(context.db, caller)
    return { events: events.map(printEvent), after: events.at(-1)?.sequence ?? start, oldest: first, newest: last }
  },
}

function printEvent({ sequence, uid, kind, action, entity, simulated, created_at, body }: LoggedEvent) {
  return {
    sequence,
    eventId: printEventId(uid),
    kind,
    action,
    entity,
    simulated,
    createdAt: created_at.getTime(),
    body,
  }
}

/**
 * Ends when the client leaves or would be refused, when the gateway closes, or when a write fails. Waits for slow readers instead of
 * buffering for them.
 */
async function stream(
  context: Context,
  caller: BranchCaller,
  start: number,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { db, log, eventSignal } = context
  const out = openEventStream(request, reply)
  out.write(': connected\n\n')
  const watch = watchStanding(context, caller.judgeAnew)
  const { over } = watch
  over.addEventListener('abort', () => (watch.isRefused() ? cutEventStream(out) : endEventStream(out)))
  let last = start
  let wroteAt = performance.now()
  try {
    while (!out.destroyed && !over.aborted) {
      const events = await readLog(db, caller, last, streamPage)
      for (const event of events) {
        if (out.destroyed || over.aborted) break
        const text = `id: ${event.sequence}\nevent: ${event.kind}\ndata: ${JSON.stringify(printEvent(event))}\n\n`
        if (!out.write(text)) await drained(out, over)
        last = event.sequence
        wroteAt = performance.now()
      }
      if (events.length === streamPage) continue
      await eventSignal.wait(lookEveryMs, over)
      if (!over.aborted && performance.now() - wroteAt > heartbeatMs) {
        out.write(': still here\n\n')
        wroteAt = performance.now()
      }
    }
  } catch (error) {
    log.warn({ err: error, request_id: request.id }, 'event stream ended')
  } finally {
    watch.close()
    // Whoever was cut off resumes by Last-Event-ID.
    endEventStream(out)
  }
  return reply
}

function drained(out: ServerResponse, over: AbortSignal): Promise<void> {
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

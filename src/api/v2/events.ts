/**
 * The branch's log, for partners who pull: numbered without a gap, so that a missing number proves a missing
 * event. As pages, or, with `Accept: text/event-stream`, as a stream that resumes by `Last-Event-ID`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { cutEventStream, drained, endEventStream, openEventStream } from '../../http/event-stream.ts'
import { watchStanding } from '../../http/standing.ts'
import { Conflict, TooManyRequests } from '../../problem.ts'
import { instant, integer, latestInstantMs, Type, text } from '../../vocabulary/schema.ts'
import { findLogBounds, type LoggedEvent, readLog } from '../../webhooks/events/branch-log.ts'
import { printEventId } from '../../webhooks/events/event.ts'
import { KindBody } from '../../webhooks/subscriptions/webhook-bodies.ts'
import { type Endpoint, wantsStream } from '../frame/route.ts'
import type { BranchCaller } from '../gates/gates.ts'
import { EventId } from './delivery-resource.ts'
import { limitOf, PageQuery, webhookSchema } from './webhook-resource.ts'

const streamPage = 100
const lookEveryMs = 1_000
const heartbeatMs = 15_000
const retrySeconds = 5

const EventBody = Type.Object(
  {
    sequence: integer('The number of the event in its branch, without a gap.', 1),
    eventId: EventId,
    kind: KindBody,
    action: text('What happened.', 'SUBMITTED'),
    entity: text('What it happened to.', 'transaction:42'),
    simulated: Type.Boolean({ description: 'Whether it is a test and did not happen.' }),
    createdAt: instant('When it was published'),
    body: text('The payload, byte for byte as it is delivered.', '{"transactionId":42}'),
  },
  { title: 'Event', description: 'Something that happened.' },
)

const EventPage = Type.Object(
  {
    events: Type.Array(EventBody, { description: 'In the order of their numbers.' }),
    after: integer('Pass it as `after` for the next page.', 1),
    oldest: integer('The oldest number that is still kept.', 1),
    newest: integer('The newest number given.', 1),
  },
  { title: 'EventPage', description: 'Some of the events of the branch, or all that follow as a stream.' },
)

const EventStream = text(
  'Server-sent events without an end: `id` is the sequence number, `event` the kind, `data` an Event as JSON. Comments keep the connection alive.',
  'id: 1\nevent: TRANSACTION\ndata: {"sequence":1}\n\n',
)

export const pullEvents: Endpoint<
  BranchCaller,
  { Querystring: { readonly after?: number; readonly limit?: number } }
> = {
  schema: {
    ...webhookSchema,
    ...{ operationId: 'pullEvents', tags: ['Events'] },
    summary: 'Events of the branch after a sequence number, as a page or as a stream',
    description:
      'A missing number proves a missing event. A number beyond the newest one is refused with 409, which names the newest. With `Accept: text/event-stream`, and no JSON in it, the answer is a stream that goes on with what happens; after a break, `Last-Event-ID` resumes it.',
    querystring: Type.Object({
      after: Type.Optional(
        integer('The last sequence number you have; 0 from the beginning.', 0, {
          minimum: 0,
          maximum: latestInstantMs,
          default: 0,
        }),
      ),
      limit: PageQuery.limit,
    }),
    headers: Type.Object({
      'last-event-id': Type.Optional(
        text('The last `id` that a stream gave; goes before `after`. Anything else is ignored.', '0'),
      ),
    }),
    response: { 200: EventPage },
    stream: EventStream,
    mayConflict: true,
  },
  async handle(context, caller, request, reply) {
    const { query } = request
    const resumed = request.headers['last-event-id']
    const start = Number(
      typeof resumed === 'string' && /^\d{1,15}$/.test(resumed) ? resumed : (query.after ?? 0),
    )
    const { first, last } = await findLogBounds(context.db, caller)
    if (start > last) throw new BeyondHead(start, last)
    if (wantsStream(request)) {
      const leave = await context.streams.take(`${caller.environment} ${caller.branchId}`)
      if (!leave)
        throw new TooManyRequests(
          'This branch has as many streams open as it may have. Close one.',
          retrySeconds,
        )
      return stream(context, caller, start, request, reply).finally(leave)
    }
    const events = await readLog(context.db, caller, start, limitOf(query))
    // What was numbered since the bounds were read is among the events.
    return {
      events: events.map(printEvent),
      after: events.at(-1)?.sequence ?? start,
      oldest: first,
      newest: Math.max(last, events.at(-1)?.sequence ?? 0),
    }
  },
}

/**
 * A client that has seen more than there is read it from a database that has been lost since: going on would
 * miss what is numbered anew.
 */
class BeyondHead extends Conflict {
  constructor(after: number, head: number) {
    super(
      `Sequence number ${after} is beyond the newest of this branch, which is ${head}. Numbers were lost here: read again from ${head}, or from a number that you trust.`,
    )
  }
}

function printEvent({ sequence, uid, kind, action, entity, simulated, createdAt, body }: LoggedEvent) {
  return {
    sequence,
    eventId: printEventId(uid),
    kind,
    action,
    entity,
    simulated,
    createdAt: createdAt.getTime(),
    body,
  }
}

/**
 * Ends when the client leaves or would be refused, when the gateway closes, or when a write fails. Waits for
 * slow readers instead of buffering for them.
 */
async function stream(
  context: Context,
  caller: BranchCaller,
  start: number,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { streamDb, streamTurns, log, branchSignal } = context
  const out = openEventStream(request, reply)
  out.write(': connected\n\n')
  const watch = watchStanding(context, () => streamTurns.take(caller.judgeAnew))
  const { over } = watch
  over.addEventListener('abort', () => (watch.isRefused() ? cutEventStream(out) : endEventStream(out)))
  let last = start
  let wroteAt = performance.now()
  try {
    while (!out.destroyed && !over.aborted) {
      const seen = branchSignal.seen(caller)
      const events = await readLog(streamDb, caller, last, streamPage)
      for (const event of events) {
        if (out.destroyed || over.aborted) break
        const text = `id: ${event.sequence}\nevent: ${event.kind}\ndata: ${JSON.stringify(printEvent(event))}\n\n`
        if (!out.write(text)) await drained(out, over)
        last = event.sequence
        wroteAt = performance.now()
      }
      if (events.length === streamPage) continue
      await branchSignal.wait(caller, seen, lookEveryMs, over)
      if (!over.aborted && performance.now() - wroteAt > heartbeatMs) {
        out.write(': still here\n\n')
        wroteAt = performance.now()
      }
    }
  } catch (error) {
    log.warn({ err: error, request_id: request.id }, 'event stream ended')
  } finally {
    watch.close()
    // A client that was cut off resumes by Last-Event-ID.
    endEventStream(out)
  }
  return reply
}

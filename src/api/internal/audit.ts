/**
 * GET /internal/v1/audit: the audit log in the order of its chain, with the proof, for whoever keeps it
 * elsewhere. As pages of lines, or, with `Accept: text/event-stream`, as a stream that resumes by
 * `Last-Event-ID`. What is told here is not recorded: each look would be the next to be told.
 */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ChainHead, printHead } from '../../audit/block.ts'
import { openHeadSigner } from '../../audit/head-signer.ts'
import { findStart, positionPattern, readOn } from '../../audit/stream.ts'
import { linesOf, printLines, type StreamedBlock } from '../../audit/stream-line.ts'
import type { Context } from '../../context.ts'
import { cutEventStream, drained, endEventStream, openEventStream } from '../../http/event-stream.ts'
import { alwaysInDoubt, watchStanding } from '../../http/standing.ts'
import { Forbidden, TooManyRequests } from '../../problem.ts'
import { findStandingRole } from '../../users/admin-credential.ts'
import { permits } from '../../vocabulary/permission.ts'
import { Type, text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import { mediaTypes, wantsStream } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'

const lookEveryMs = 1_000
const heartbeatMs = 15_000
const retrySeconds = 5

const AuditLines = text(
  'Lines of JSON: the entries of a block, the block, and its signed head where it has one. `docs/audit.md` has their fields, and how they are verified. None: there is nothing new.',
  '{"kind":"entry","block":1,"index":0,"id":1,"at":"2026-03-02T10:00:00.123Z","actor":"operator:olga","action":"user.created","subject":"user:id-1","environment":null,"address":null,"requestId":null,"details":{"name": "Ada"}}\n',
)
const AuditStream = text(
  'The same lines as server-sent events without an end: `event` is the kind, `data` the line, and the `id` of a block is its position. Comments keep the connection alive.',
  'event: block\nid: 1:003ebe84c0f2b3bd2444f5a8dd5536e1abc2aa60a77e7161ea20526b4c9f1b63\ndata: {"kind":"block"}\n\n',
)

const position = (description: string) => text(description, '0', { pattern: positionPattern, maxLength: 80 })

export const tellAudit: Endpoint<
  Administrator,
  { Querystring: { readonly after?: string }; Headers: { readonly 'last-event-id'?: string } }
> = {
  schema: {
    operationId: 'listenToAudit',
    summary: 'The audit log after a position, as a page or as a stream',
    description:
      'For collectors, with a credential of the live site that may export the log. Entries come once their block is sealed, a second after they were made: in order, and none later. A position is that of a block, or its head (POSITION:HASH), which is refused with 409 when the log does not go through it any more. With `Accept: text/event-stream`, and no JSON in it, the answer is a stream that goes on; after a break, `Last-Event-ID` resumes it.',
    tags: ['Administration'],
    security: [{ adminCredential: [] }],
    mayForbid: true,
    mayConflict: true,
    querystring: Type.Object(
      { after: Type.Optional(position('The last block that you have; 0 from the beginning.')) },
      { additionalProperties: false },
    ),
    headers: Type.Object({
      'last-event-id': Type.Optional(position('The last `id` that a stream gave; goes before `after`.')),
    }),
    response: { 200: AuditLines },
    lines: AuditLines,
    stream: AuditStream,
  },
  async handle(context, caller, request, reply) {
    const { db, vault, environment, clock } = context
    if (environment !== 'live')
      throw new Forbidden('Both sites share the audit log: it takes a credential of the live site.')
    const start = await findStart(db, request.headers['last-event-id'] ?? request.query.after ?? '0')
    if (!wantsStream(request)) {
      const blocks = await readOn(db, await openHeadSigner(db, vault), start, clock.now())
      return reply
        .headers({ 'content-type': mediaTypes.lines, 'cache-control': 'no-store' })
        .send(blocks.flatMap(printLines).join(''))
    }
    const leave = await context.streams.take(`audit credential:${caller.credential.id}`)
    if (!leave)
      throw new TooManyRequests(
        'This credential has as many streams open as it may have. Close one.',
        retrySeconds,
      )
    return stream(context, caller, start, request, reply).finally(leave)
  },
}

/** A position is told with its block: whoever is cut off within one gets all of it again. */
function* listEvents(block: StreamedBlock): Generator<string> {
  for (const { kind, text } of linesOf(block))
    yield `event: ${kind}\n${kind === 'block' ? `id: ${printHead(block)}\n` : ''}data: ${text}\n\n`
}

/** Waits for slow readers instead of buffering for them: beside what the socket holds, a few blocks. */
async function stream(
  context: Context,
  { credential }: Administrator,
  start: ChainHead,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { db, streamDb, streamTurns, vault, clock, log } = context
  const out = openEventStream(request, reply)
  out.write(': connected\n\n')
  const watch = watchStanding(context, () =>
    streamTurns.take(async () => {
      const roles = await findStandingRole(db, credential.id, clock.now())
      const tags = [`user:${credential.userId}`]
      return permits(roles, 'audit.export') ? { tags, soundUntilMs: alwaysInDoubt } : undefined
    }),
  )
  const { over } = watch
  over.addEventListener('abort', () => (watch.isRefused() ? cutEventStream(out) : endEventStream(out)))
  let last = start
  let wroteAt = performance.now()
  try {
    const signer = await openHeadSigner(streamDb, vault)
    while (!out.destroyed && !over.aborted) {
      const blocks = await readOn(streamDb, signer, last, clock.now())
      for (const block of blocks) {
        last = block
        await write(out, over, block)
        wroteAt = performance.now()
      }
      if (blocks.length > 0) continue
      await pause(out, over)
      if (!over.aborted && performance.now() - wroteAt > heartbeatMs) {
        out.write(': still here\n\n')
        wroteAt = performance.now()
      }
    }
  } catch (error) {
    log.warn({ err: error, request_id: request.id }, 'audit stream ended')
  } finally {
    watch.close()
    endEventStream(out)
  }
  return reply
}

async function write(out: ServerResponse, over: AbortSignal, block: StreamedBlock): Promise<void> {
  for (const event of listEvents(block)) {
    if (out.destroyed || over.aborted) return
    if (!out.write(event)) await drained(out, over)
  }
}

/** Until there may be something new, or nobody to tell it to. */
function pause(out: ServerResponse, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      out.off('close', done)
      over.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, lookEveryMs)
    out.on('close', done)
    over.addEventListener('abort', done)
    if (out.destroyed || over.aborted) done()
  })
}

/**
 * GET /internal/v1/revocations: what nodes hear of each other's changes, for services that remember what
 * introspection said (decision 0034). Nothing is told again: who connects, or was cut off, knows nothing.
 */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import { everything, keysRotated } from '../../database/changes.ts'
import { cutEventStream, openEventStream } from '../../http/event-stream.ts'
import { isBearerTag } from '../../oauth/bearer.ts'
import { TooManyRequests, Unavailable } from '../../problem.ts'
import { findService } from '../../services/service.ts'
import { text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Provisioner } from '../gates/service-gates.ts'

const retrySeconds = 5
/** What a listener has not taken yet. One that lags behind so far is cut off, and begins anew. */
const unreadBytesAtMost = 1024 * 1024

const RevocationStream = text(
  'Server-sent events without an end. `open`: the tag of the service; answers without it are not to be remembered. `changed`: tags, separated by spaces. `beat`, each second: the milliseconds after `open` up to which every change has been told.',
  'event: open\ndata: Zm9vYmFyYmF6cXV4\n\nevent: beat\ndata: -12\n\n',
)

export const tellRevocations: Endpoint<Provisioner> = {
  schema: {
    operationId: 'listenToRevocations',
    summary: 'What answers of introspection may not be believed any more',
    description:
      'For systems of the brokerage that remember what introspection said. An answer that carries a tag told here is to be forgotten; when the stream ends, all of them are. `docs/resource.md` has the rules.',
    tags: ['Internal'],
    security: [{ serviceBasic: [] }],
    response: { 200: RevocationStream },
    stream: RevocationStream,
  },
  async handle(context, { service }, request, reply) {
    if (!context.changes.isLive) throw new Unavailable('This node hears of no changes at present. Ask again.')
    const leave = await context.listeners.take(service.id)
    if (!leave)
      throw new TooManyRequests(
        'This service has as many of these streams open as it may have. Close one.',
        retrySeconds,
      )
    const out = tell(context, service.id, request, reply)
    out.once('close', leave)
    // A revocation since it was let in may have been announced before this listened.
    const living = await findService(context.db, service.id).catch(() => undefined)
    if (!living) out.destroy()
    return reply
  },
}

/**
 * Ends with whatever may have made the listener's words untrue: changes that this node missed, other keys,
 * another row of the service. The listener forgets everything and comes back, or is refused.
 */
function tell(
  { changes, opaqueTags, closing }: Context,
  serviceId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): ServerResponse {
  const words = opaqueTags.ofService(serviceId)
  const endings = [everything, keysRotated, `service:${serviceId}`]
  const openedAtMs = performance.now()
  const out = openEventStream(request, reply)
  let gathered: string[] = []

  const write = (event: string, data: string | number) => {
    if (out.writableLength > unreadBytesAtMost) out.destroy()
    if (!out.destroyed && !out.writableEnded) out.write(`event: ${event}\ndata: ${data}\n\n`)
  }
  const flush = () => {
    if (gathered.length > 0) write('changed', gathered.join(' '))
    gathered = []
  }
  const end = () => cutEventStream(out)
  const beat = () => {
    // A command that hands out keys answers later than it was asked to.
    if (opaqueTags.ofService(serviceId) !== words) return end()
    flush()
    write('beat', Math.floor(changes.heardUntilMs - openedAtMs))
  }
  const hearNoMore = changes.subscribe((tag) => {
    if (endings.includes(tag)) return end()
    if (!isBearerTag(tag)) return
    // Many are announced in one breath.
    if (gathered.length === 0) queueMicrotask(flush)
    gathered.push(words.print(tag))
  })
  const beatNoMore = changes.onBeat(beat)
  closing.addEventListener('abort', end)
  out.once('close', () => {
    hearNoMore()
    beatNoMore()
    closing.removeEventListener('abort', end)
  })
  write('open', words.own)
  beat()
  if (closing.aborted) end()
  return out
}

/**
 * A long file, sent as it is made: never is all of it in memory. It ends with the right to see it, and half a
 * file does not look like a whole one.
 */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { watchStanding } from '../../http/standing.ts'
import { TooManyRequests } from '../../problem.ts'
import { refuseForeignOrigin } from './form-token.ts'
import type { Watcher } from './live.ts'
import type { Visit } from './visit.ts'

const retrySeconds = 30

type Pieces = AsyncIterable<string> | Iterable<string>

interface SentFile {
  readonly name: string
  readonly type: string
  /** Who takes it. */
  readonly watcher: Watcher
  /** What is wrong is thrown before the first piece; `stop` says that nobody reads on. */
  open(stop: AbortSignal): Promise<Pieces>
}

export async function sendFile(
  { context, request, reply }: Visit,
  { name, type, watcher, open }: SentFile,
): Promise<FastifyReply> {
  // It may leave an entry in the log: no other site may bring that about.
  refuseForeignOrigin(request)
  const leave = await context.streams.take(`${watcher.place} export`)
  if (!leave) throw new TooManyRequests('Too many exports are under way at once.', retrySeconds)
  const watch = watchStanding(context, watcher.judge)
  const left = new AbortController()
  const { socket } = request.raw
  const onClose = () => left.abort(new Error('The reader has left.'))
  socket.once('close', onClose)
  const end = () => {
    socket.off('close', onClose)
    leave()
    watch.close()
  }
  try {
    watch.over.addEventListener('abort', () => watch.isRefused() && socket.destroy())
    const body = Readable.from(await open(AbortSignal.any([watch.over, left.signal])), { objectMode: false })
    // However it ends: read to the end, given up by the reader, or broken.
    body.once('close', end)
    return reply.header('content-disposition', `attachment; filename="${name}"`).type(type).send(body)
  } catch (error) {
    end()
    throw error
  }
}

/** `20260302T100000Z`, for the names of files. */
export function printStamp(at: Date): string {
  return `${at.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
}

/**
 * What stands between Node's HTTP and the routes: requests enter by the entrance, and requests for which
 * there is no room are turned away.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { openEntrance } from './entrance.ts'

export interface DoorOptions {
  readonly nextId: () => string
  readonly log: Logger
  /** Called now and then with how many requests found no room since the last call. */
  readonly turnedAway?: ((requests: number) => void) | undefined
}

/** In one turn of the event loop; more than any balancer asks. */
const healthChecksInTurn = 50

/**
 * Health checks bypass the queue: they matter most under overload. Requests whose client has gone are
 * dropped.
 */
export function guardEntrance(handle: RequestListener, { nextId, ...watch }: DoorOptions): RequestListener {
  const count = countTurnedAway(watch)
  const entrance = openEntrance<[IncomingMessage, ServerResponse]>({
    begin: ([request, response]) => request.socket.destroyed || handle(request, response),
    turnAway([request, response]) {
      count()
      answerTurnedAway(request, response, nextId())
    },
  })
  let healthChecks = 0
  return (request, response) => {
    const isAsked = request.method === 'GET' && isHealthCheck(request.url ?? '')
    if (!isAsked || healthChecks === healthChecksInTurn) return entrance.enter([request, response])
    if (healthChecks++ === 0)
      setImmediate(() => {
        healthChecks = 0
      })
    handle(request, response)
  }
}

const turnedAwayText = 'There is more to do at the moment than can be done. Try the same request again.'
const turnedAwayPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Too busy</title><p>${turnedAwayText}</p></html>`

/** Of the same shape as every other refusal, but printed by hand: it must cost next to nothing. */
function answerTurnedAway({ headers }: IncomingMessage, response: ServerResponse, requestId: string): void {
  const isPerson = headers.accept?.includes('text/html')
  const body = isPerson
    ? turnedAwayPage
    : `{"error":"temporarily_unavailable","error_description":"${turnedAwayText}","request_id":"${requestId}"}`
  response.writeHead(503, {
    'content-type': isPerson ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'",
    'retry-after': '1',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
  })
  response.end(body)
}

const tellEveryMs = 1_000

/** Turned-away requests are too many for a log line each. */
function countTurnedAway({ log, turnedAway }: Pick<DoorOptions, 'log' | 'turnedAway'>): () => void {
  let requests = 0
  const tell = () => {
    log.warn({ requests }, 'requests were turned away: more came than could be answered')
    turnedAway?.(requests)
    requests = 0
  }
  return () => {
    if (requests++ === 0) setTimeout(tell, tellEveryMs).unref()
  }
}

export function isHealthCheck(url: string): boolean {
  return url === '/healthz' || url === '/readyz'
}

/**
 * The load generator: so many keep-alive connections, each with one request under way at any time. The same for
 * every server. A response that is not 200 fails the benchmark.
 */
import { Client, type Dispatcher } from 'undici'

export const connections = 32

export interface SentRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: string
}

export interface Load {
  readonly origin: string
  /** The requests of a round of that length, prepared before its time runs. */
  prepareRound(durationMs: number): Promise<Iterator<SentRequest>>
  /** What a right answer contains, checked once before anything is measured. */
  readonly expected: string
}

export interface RoundTimes {
  /** The load runs this long before anything counts: what a server puts off shows in the count. */
  readonly leadInMs: number
  readonly countedMs: number
}

/** Completed requests a second. */
export async function measureRate(load: Load, { leadInMs, countedMs }: RoundTimes): Promise<number> {
  const requests = await load.prepareRound(leadInMs + countedMs)
  const clients = Array.from({ length: connections }, () => new Client(load.origin))
  const countedFrom = performance.now() + leadInMs
  try {
    const counts = await Promise.all(clients.map((client) => sendAndCount(client, requests, countedFrom, countedMs)))
    return (counts.reduce((sum, count) => sum + count) * 1000) / countedMs
  } finally {
    await Promise.all(clients.map((client) => client.destroy()))
  }
}

async function sendAndCount(client: Client, requests: Iterator<SentRequest>, countedFrom: number, countedMs: number) {
  for (let completed = 0; ; ) {
    const next = requests.next()
    if (next.done) throw new Error('The requests ran out before the round was over.')
    await send(client, next.value)
    const sinceMs = performance.now() - countedFrom
    if (sinceMs > countedMs) return completed
    if (sinceMs > 0) completed++
  }
}

/** Resolves when the whole response has arrived. Straight on the dispatcher: the body is counted, not kept. */
function send(client: Client, request: SentRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    let status = 0
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart(_controller, statusCode) {
        status = statusCode
      },
      onResponseData() {},
      onResponseEnd() {
        if (status === 200) resolve()
        else reject(new Error(`${request.method} ${request.path} answered ${status}.`))
      },
      onResponseError(_controller, error) {
        reject(error)
      },
    }
    client.dispatch({ ...request, body: request.body ?? null }, handler)
  })
}

export interface ReadAnswer {
  readonly headers: Record<string, string>
  readonly text: string
}

/** One request whose answer is read: a server that answers 200 with the wrong thing is not measured. */
export async function probe(load: Load): Promise<ReadAnswer> {
  const client = new Client(load.origin)
  try {
    const { value: request } = (await load.prepareRound(0)).next()
    const answer = await client.request({ ...request, body: request.body ?? null })
    const text = await answer.body.text()
    if (answer.statusCode !== 200 || !text.includes(load.expected)) {
      throw new Error(`${load.origin}${request.path} answered ${answer.statusCode} ${text}`)
    }
    return { headers: answer.headers as Record<string, string>, text }
  } finally {
    await client.destroy()
  }
}

/**
 * An OpenTelemetry collector on loopback, as far as traces by OTLP over HTTP as JSON go. It can be told to
 * stop answering.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { testTimeoutMs } from './timeout.ts'

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly service: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly failed: boolean
  readonly startMs: number
  readonly endMs: number
}

export interface Collector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** Every body as it came. */
  readonly text: string
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  /** From now on it takes what comes and says nothing, or answers with this status. */
  answer(how: 'hang' | number): void
  /** Looks at what has come whenever something comes, until there is what is asked for. */
  until<Value>(what: string, find: () => Value | undefined | false): Promise<Value>
  close(): Promise<void>
}

const errorStatus = 2

export async function openCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const requests: { path: string; headers: IncomingHttpHeaders }[] = []
  const waiting = new Set<() => void>()
  let text = ''
  let how: 'hang' | number = 200
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    requests.push({ path: request.url!, headers: request.headers })
    text += body
    spans.push(...readSpans(JSON.parse(body)))
    if (how !== 'hang') response.writeHead(how, { 'content-type': 'application/json' }).end('{}')
    for (const look of waiting) look()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    get text() {
      return text
    },
    answer(next) {
      how = next
    },
    until: (what, find) =>
      new Promise((done, fail) => {
        const look = () => {
          const found = find()
          if (found === undefined || found === false) return
          clearTimeout(timer)
          waiting.delete(look)
          done(found)
        }
        const timer = setTimeout(() => {
          waiting.delete(look)
          fail(
            new Error(`Waited in vain for ${what}; these came: ${spans.map((span) => span.name).join(', ')}`),
          )
        }, testTimeoutMs)
        waiting.add(look)
        look()
      }),
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

interface Wire {
  readonly resourceSpans: {
    readonly resource: { readonly attributes: WireAttribute[] }
    readonly scopeSpans: { readonly spans: WireSpan[] }[]
  }[]
}

interface WireAttribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: WireAttribute[]
  readonly status: { readonly code: number }
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
}

function readSpans({ resourceSpans }: Wire): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(readAttributes(resource.attributes)['service.name'])
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => readSpan(span, service)))
  })
}

function readSpan(span: WireSpan, service: string): CollectedSpan {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    service,
    attributes: readAttributes(span.attributes),
    failed: span.status.code === errorStatus,
    startMs: Number(BigInt(span.startTimeUnixNano)) / 1e6,
    endMs: Number(BigInt(span.endTimeUnixNano)) / 1e6,
  }
}

function readAttributes(attributes: readonly WireAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

/**
 * Where a load's requests come from: the same ones again and again, or a stock of which each is used once.
 */
import type { PrintedRequest } from './load.ts'

export type PrepareRound = (durationMs: number) => Promise<Iterator<PrintedRequest>>

export function cycle(requests: readonly PrintedRequest[]): PrepareRound {
  let position = 0
  const next = () => ({ done: false, value: requests[position++ % requests.length]! }) as const
  return async () => ({ next })
}

/** What a round leaves over is used in the next. */
export function useOnce(
  make: (count: number) => Promise<PrintedRequest[]>,
  mostPerSecond: number,
): PrepareRound {
  let stock: PrintedRequest[] = []
  let used = 0
  return async (durationMs) => {
    stock = stock.slice(used)
    used = 0
    const wanted = 1 + Math.ceil((durationMs * mostPerSecond) / 1000)
    if (stock.length < wanted) stock = [...stock, ...(await make(wanted - stock.length))]
    return {
      next: () =>
        used < stock.length ? { done: false, value: stock[used++]! } : { done: true, value: undefined },
    }
  }
}

export function bearerGet(path: string, token: string, headers: readonly string[] = []): PrintedRequest {
  return print([`GET ${path} HTTP/1.1`, `authorization: Bearer ${token}`, ...headers], '')
}

export function formPost(path: string, client: Credentials, fields: Record<string, string>): PrintedRequest {
  return post(path, client, 'application/x-www-form-urlencoded', new URLSearchParams(fields).toString())
}

export function jsonPost(
  path: string,
  client: Credentials,
  body: unknown,
  headers: readonly string[] = [],
): PrintedRequest {
  return post(path, client, 'application/json', JSON.stringify(body), headers)
}

function post(
  path: string,
  client: Credentials,
  contentType: string,
  body: string,
  headers: readonly string[] = [],
): PrintedRequest {
  const head = [
    `POST ${path} HTTP/1.1`,
    `authorization: Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
    `content-type: ${contentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
  ]
  return print(head, body)
}

function print([start, ...headers]: readonly string[], body: string): PrintedRequest {
  return Buffer.from([start, 'host: 127.0.0.1', 'connection: keep-alive', ...headers, '', body].join('\r\n'))
}

export interface Credentials {
  readonly id: string
  readonly secret: string
}

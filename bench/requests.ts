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
  return tokenGet(path, `Bearer ${token}`, headers)
}

export function tokenGet(path: string, authorization: string, headers: readonly string[]): PrintedRequest {
  return print([`GET ${path} HTTP/1.1`, `authorization: ${authorization}`, ...headers], '')
}

export function formPost(
  path: string,
  client: Credentials,
  fields: Record<string, string>,
  headers: readonly string[] = [],
): PrintedRequest {
  return publicFormPost(path, fields, [basic(client), ...headers])
}

/** Of a client that says who it is in the fields. */
export function publicFormPost(
  path: string,
  fields: Record<string, string>,
  headers: readonly string[],
): PrintedRequest {
  return post(path, 'application/x-www-form-urlencoded', new URLSearchParams(fields).toString(), headers)
}

export function jsonPost(
  path: string,
  client: Credentials,
  body: unknown,
  headers: readonly string[] = [],
): PrintedRequest {
  return post(path, 'application/json', JSON.stringify(body), [basic(client), ...headers])
}

function basic({ id, secret }: Credentials): string {
  return `authorization: Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}

function post(path: string, contentType: string, body: string, headers: readonly string[]): PrintedRequest {
  const head = [
    `POST ${path} HTTP/1.1`,
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

/** Where a load's requests come from: the same ones again and again, or a stock of which each is used once. */
import type { SentRequest } from './load.ts'

export type PrepareRound = (durationMs: number) => Promise<Iterator<SentRequest>>

export function cycle(requests: readonly SentRequest[]): PrepareRound {
  let position = 0
  const next = () => ({ done: false, value: requests[position++ % requests.length]! }) as const
  return async () => ({ next })
}

/** What a round leaves over is used in the next. */
export function useOnce(make: (count: number) => Promise<SentRequest[]>, mostPerSecond: number): PrepareRound {
  let stock: SentRequest[] = []
  let used = 0
  return async (durationMs) => {
    stock = stock.slice(used)
    used = 0
    const wanted = 1 + Math.ceil((durationMs * mostPerSecond) / 1000)
    if (stock.length < wanted) stock = [...stock, ...(await make(wanted - stock.length))]
    return {
      next: () => (used < stock.length ? { done: false, value: stock[used++]! } : { done: true, value: undefined }),
    }
  }
}

export function formPost(path: string, client: Credentials, fields: Record<string, string>): SentRequest {
  return {
    method: 'POST',
    path,
    headers: {
      authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(fields).toString(),
  }
}

export interface Credentials {
  readonly id: string
  readonly secret: string
}

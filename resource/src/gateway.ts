/** The gateway as a service of the brokerage speaks to it. */
import type { Exchange, Reply } from './exchange.ts'
import { type Answer, parseAnswer } from './introspection.ts'
import { NotUnderstood } from './read-json.ts'
import { Unavailable } from './unavailable.ts'

export interface Credential {
  /** The id and the secret of a service (`countersign service create`). */
  readonly id: string
  readonly secret: string
}

export function printBasic({ id, secret }: Credential): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}

export interface Introspector {
  /** Undefined for a token that is not active. With `isAnew` from nothing that the gateway remembers. */
  introspect(token: string, isAnew: boolean): Promise<Answer | undefined>
}

export function openIntrospector(exchange: Exchange, issuer: string, credential: Credential): Introspector {
  const url = new URL('/v1/oauth/introspect', issuer)
  const headers = {
    authorization: printBasic(credential),
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  }
  return {
    async introspect(token, isAnew) {
      const body = `token=${encodeURIComponent(token)}`
      const asked = { ...headers, 'content-length': String(body.length) }
      const reply = await exchange
        .ask({
          url,
          method: 'POST',
          headers: isAnew ? { ...asked, 'cache-control': 'no-cache' } : asked,
          body,
        })
        .catch((cause: unknown) => {
          throw new Unavailable('The gateway cannot be reached.', { cause })
        })
      return readReply(reply, parseAnswer)
    },
  }
}

/** The parsed text of an answer of 200. */
export function readReply<Value>(reply: Reply, parse: (text: string) => Value): Value {
  if (reply.status !== 200)
    throw new Unavailable(`The gateway answered ${reply.status}: ${reply.text.slice(0, 200)}`, {
      retryAfterSeconds: readRetryAfter(reply),
    })
  try {
    return parse(reply.text)
  } catch (error) {
    if (error instanceof NotUnderstood)
      throw new Unavailable(`The gateway's answer cannot be understood. ${error.message}`)
    throw error
  }
}

function readRetryAfter({ headers }: Reply): number {
  const seconds = Number(headers['retry-after'])
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds : 1
}

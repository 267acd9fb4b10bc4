/** The administration interface of a gateway, as a caller with a credential has it. */
import { setTimeout as wait } from 'node:timers/promises'
import { type Dispatcher, request } from 'undici'
import type { DocumentKind } from './document.ts'
import { kindTable } from './document.ts'

/** One thing of the house, as it is. */
export interface HouseObject {
  readonly name: string
  readonly owner: string | null
  readonly spec: Readonly<Record<string, unknown>>
  readonly etag: string
}

export interface FieldChange {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
  /** It stays as it is until another person has decided. */
  readonly proposed: boolean
}

export interface MadeProposal {
  readonly id: number
  readonly kind: string
  /** False: it waited already. */
  readonly isNew: boolean
}

/** What came of a request, or would come of it. */
interface HouseAnswer {
  readonly outcome: 'created' | 'changed' | 'proposed' | 'unchanged' | 'removed'
  readonly changes: readonly FieldChange[]
  readonly proposals: readonly MadeProposal[]
}

/** `etag` is of the thing as it was seen; undefined where there was none. */
interface SeenCondition {
  readonly etag: string | undefined
  readonly reason: string
  readonly isDryRun: boolean
}

export interface Administration {
  /** Those of an owner, or all; page by page. */
  list(kind: DocumentKind, owner?: string): AsyncGenerator<HouseObject>
  find(kind: DocumentKind, name: string): Promise<HouseObject | undefined>
  put(kind: DocumentKind, name: string, body: HouseBody, condition: SeenCondition): Promise<HouseAnswer>
  remove(kind: DocumentKind, name: string, condition: SeenCondition): Promise<HouseAnswer>
}

interface HouseBody {
  readonly spec: Readonly<Record<string, unknown>>
  readonly owner?: string | null
}

/** The gateway has answered, and it is no yes. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
  readonly status: number
  readonly fields: readonly { readonly field: string; readonly problem: string }[]
  /** Of a 412: what is not any more as it was seen. */
  readonly moved: readonly string[]

  constructor(status: number, body: RefusalBody) {
    super(body.error_description ?? `The gateway answered with status ${status}.`)
    this.status = status
    this.fields = body.fields ?? []
    this.moved = body.moved ?? []
  }
}

interface RefusalBody {
  readonly error_description?: string
  readonly fields?: readonly { readonly field: string; readonly problem: string }[]
  readonly moved?: readonly string[]
}

interface AdministrationAddress {
  /** Of the internal listener, without `/admin/v1`. */
  readonly url: string
  readonly credential: string
}

const pageSize = 100

export function openAdministration({ url, credential }: AdministrationAddress): Administration {
  const addressOf = (kind: DocumentKind, name?: string) =>
    `${url}/admin/v1/${kindTable[kind].path}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
  const ask = async (method: Dispatcher.HttpMethod, address: string, more: Asked = {}) => {
    const answer = await send(method, address, credential, more)
    if (answer.status >= 300) throw new RefusedRequest(answer.status, answer.body as RefusalBody)
    return answer.body
  }
  return {
    async *list(kind, owner) {
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query = printQuery({ limit: String(pageSize), owner, cursor })
        const page = (await ask('GET', `${addressOf(kind)}?${query}`)) as {
          readonly items: readonly HouseObject[]
          readonly next: string | null
        }
        yield* page.items
        cursor = page.next
      }
    },
    async find(kind, name) {
      try {
        return (await ask('GET', addressOf(kind, name))) as HouseObject
      } catch (error) {
        if (error instanceof RefusedRequest && error.status === 404) return undefined
        throw error
      }
    },
    async put(kind, name, body, condition) {
      const address = `${addressOf(kind, name)}?${printCondition(condition)}`
      return (await ask('PUT', address, { body, headers: conditionHeaders(condition) })) as HouseAnswer
    },
    async remove(kind, name, condition) {
      const address = `${addressOf(kind, name)}?${printCondition(condition)}`
      return (await ask('DELETE', address, { headers: conditionHeaders(condition) })) as HouseAnswer
    },
  }
}

interface Asked {
  readonly body?: HouseBody
  readonly headers?: Readonly<Record<string, string>>
}

function printQuery(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((each): each is [string, string] => each[1] !== undefined)
  return new URLSearchParams(given).toString()
}

function printCondition({ reason, isDryRun }: SeenCondition): string {
  return printQuery({ reason, dryRun: isDryRun ? 'true' : undefined })
}

function conditionHeaders({ etag }: SeenCondition): Record<string, string> {
  return etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag }
}

const triesAtMost = 10
const longestWaitSeconds = 60

/** Turned away for the moment, it comes again: nothing was done. */
async function send(
  method: Dispatcher.HttpMethod,
  address: string,
  credential: string,
  { body, headers }: Asked,
) {
  for (let tries = 1; ; tries += 1) {
    const answer = await request(address, {
      method,
      headers: {
        ...{ authorization: `Bearer ${credential}`, accept: 'application/json', ...headers },
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    const retryAfter = Number(answer.headers['retry-after'])
    const isTurnedAway = answer.statusCode === 429 || answer.statusCode === 503
    if (isTurnedAway && tries < triesAtMost && retryAfter <= longestWaitSeconds)
      await wait(retryAfter * 1_000)
    else return { status: answer.statusCode, body: parse(text, address) }
  }
}

function parse(text: string, address: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    throw new Error(`What answers at ${address} is no gateway: it did not send JSON. --url names another.`)
  }
}

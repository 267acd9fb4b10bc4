/** A proxy that asks at the doors, with headers as they are written, and what it hands on. */
import assert from 'node:assert/strict'
import { createService } from '../../src/services/service.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import type { TestGateway } from './gateway.ts'
import { sendRaw } from './oauth.ts'

export const doorNames = ['forwarded', 'original', 'envoy'] as const
export type DoorName = (typeof doorNames)[number]

/** Of a client that a proxy has, and what its route needs. */
export interface Passage {
  readonly needs?: string
  readonly token?: string | undefined
  readonly method?: string
  readonly host?: string
  readonly target?: string
  /** Before the token, instead of Bearer. */
  readonly scheme?: string
  /** Sent beside, as they are. */
  readonly more?: readonly string[]
  /** Of a header that is left out, or sent otherwise: its name in small letters, and the lines instead. */
  readonly instead?: Readonly<Record<string, readonly string[]>>
  /** Where it asks; the house's own node unless given. */
  readonly at?: string
}

export interface Judged {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  json<Value = Record<string, unknown>>(): Value
}

export interface TestProxy {
  readonly id: string
  readonly credential: string
  ask(door: DoorName, passage?: Passage): Promise<Judged>
}

interface ProxyOptions {
  readonly environment?: Environment
  readonly sees?: readonly string[]
  readonly audience?: string
}

export async function openProxy(house: TestGateway, options: ProxyOptions = {}): Promise<TestProxy> {
  const { environment = 'live', ...draft } = options
  const { db } = house.gateway.context
  const { service, secret } = await createService(db, 'Edge', environment, house.act(), draft)
  const credential = `${service.id}:${secret.text}`
  return {
    id: service.id,
    credential,
    async ask(door, passage = {}) {
      return read(await sendRaw(passage.at ?? house.internalUrl, write(door, credential, passage)))
    },
  }
}

function write(door: DoorName, credential: string, passage: Passage): string {
  const {
    needs = 'scope=read',
    token,
    scheme = 'Bearer',
    method = 'POST',
    host = 'api.example.com',
    target = '/orders?dry=1',
  } = passage
  const client = token === undefined ? {} : { authorization: `${scheme} ${token}` }
  const told: Record<DoorName, Record<string, string>> = {
    forwarded: {
      host: '127.0.0.1',
      'x-forwarded-method': method,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': host,
      'x-forwarded-uri': target,
    },
    original: {
      host: '127.0.0.1',
      'x-original-method': method,
      'x-original-url': `https://${host}${target}`,
    },
    envoy: { host, 'x-countersign-needs': needs },
  }
  const start =
    door === 'envoy' ? `${method} /forward-auth/envoy${target}` : `GET /forward-auth/${door}?${needs}`
  const headers = { ...told[door], 'x-countersign-service': credential, ...client, connection: 'close' }
  const lines = Object.entries(headers).flatMap(
    ([name, value]) => passage.instead?.[name] ?? [`${name}: ${value}`],
  )
  return [`${start} HTTP/1.1`, ...lines, ...(passage.more ?? []), '', ''].join('\r\n')
}

function read({ status, head, body }: Awaited<ReturnType<typeof sendRaw>>): Judged {
  const pairs = head
    .split('\r\n')
    .slice(1)
    .map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })
  const headers = new Map(pairs)
  assert.equal(headers.size, pairs.length, 'no header of an answer comes twice')
  return { status, headers, body, json: () => JSON.parse(body) }
}

/** Without the beginning of their names. */
export function identityIn({ headers }: Judged): Record<string, string> {
  const prefix = 'x-countersign-'
  return Object.fromEntries(
    [...headers].flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
    ),
  )
}

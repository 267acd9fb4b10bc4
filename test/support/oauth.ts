/**
 * What the tests of the authorization server share: a person who approves, exact errors, raw bytes, a second
 * node.
 */

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import type { Logger } from 'pino'
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts'
import { readConfig } from '../../src/settings/config.ts'
import type { User } from '../../src/users/user.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { ask } from './ask.ts'
import type { Answer, Browser } from './browser.ts'
import {
  type ApproveOptions,
  nodeOptions,
  type TestClient,
  type TestGateway,
  type TokenBody,
} from './gateway.ts'

const signInAgainAfterMs = 4 * 60_000

/**
 * An account holder at a browser who allows whatever is asked, and signs in again when the clock has moved
 * on.
 */
export class Holder {
  readonly user: User
  readonly #house: TestGateway
  readonly #browsers = new Map<Environment, { browser: Browser; signedInAt: number }>()

  constructor(house: TestGateway, user: User) {
    this.#house = house
    this.user = user
  }

  async browser(environment: Environment = 'live'): Promise<Browser> {
    const now = this.#house.clock.now().getTime()
    const known = this.#browsers.get(environment)
    if (known && Math.abs(now - known.signedInAt) < signInAgainAfterMs) return known.browser
    const browser = await this.#house.signIn(this.user, environment)
    this.#browsers.set(environment, { browser, signedInAt: now })
    return browser
  }

  async callback(client: TestClient, options?: ApproveOptions): Promise<URLSearchParams> {
    return this.#house.approve(client, await this.browser(client.environment), options)
  }

  async code(client: TestClient, options?: ApproveOptions): Promise<string> {
    return (await this.callback(client, options)).get('code')!
  }

  async tokens(client: TestClient, options?: ApproveOptions): Promise<TokenBody> {
    const answer = await this.#house.exchange(client, await this.code(client, options))
    assert.equal(answer.status, 200, answer.text)
    return answer.json<TokenBody>()
  }
}

export async function openHolder(house: TestGateway): Promise<Holder> {
  return new Holder(house, await house.makeUser())
}

/** The RFC 6749 shape and nothing else: two members, JSON, not to be stored. */
export function assertOAuthError(
  answer: Answer,
  error: string,
  status = error === 'invalid_client' ? 401 : 400,
): void {
  assert.equal(answer.status, status, answer.text)
  assert.deepEqual(Object.keys(answer.json()).sort(), ['error', 'error_description'])
  assert.equal(answer.json().error, error)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  assert.equal(answer.headers['cache-control'], 'no-store')
}

/** The one shape of every other error. */
export function assertProblem(answer: Answer, status: number, error: string): void {
  assert.equal(answer.status, status, answer.text)
  const body = answer.json()
  assert.equal(body.error, error)
  assert.equal(typeof body.error_description, 'string')
  assert.equal(body.request_id, answer.headers['x-request-id'])
  const members = ['error', 'error_description', 'fields', 'request_id']
  assert.deepEqual(
    Object.keys(body).filter((name) => !members.includes(name)),
    [],
  )
}

export interface Proof {
  readonly verifier: string
  readonly parameters: { readonly code_challenge: string; readonly code_challenge_method: 'S256' }
}

/** RFC 7636: a verifier and what the authorization request says of it. */
export function makeProof(): Proof {
  const verifier = randomBytes(32).toString('base64url')
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, parameters: { code_challenge, code_challenge_method: 'S256' } }
}

/**
 * Resolves when this node has heard of a change, and has forgotten what depended on it. Call it before the
 * change.
 */
export function hears(gateway: Gateway, tag: string): Promise<void> {
  return new Promise((resolve) => {
    gateway.context.changes.subscribe((heard) => {
      if (heard === tag) resolve()
    })
  })
}

/** Another node of the same service, on the same database and clock. */
export function openSecondNode(house: TestGateway, log?: Logger): Promise<Gateway> {
  return openGateway(readConfig(house.settings), { clock: house.clock, ...nodeOptions, ...(log && { log }) })
}

export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Sends these bytes as they are, says nothing more, and reads until the server, or the signal, ends it. */
export async function sendRaw(url: string, bytes: string, signal?: AbortSignal): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, ...(signal && { signal }) }).setEncoding(
    'latin1',
  )
  socket.write(bytes, 'latin1')
  let text = ''
  for await (const chunk of socket) text += chunk
  const end = text.indexOf('\r\n\r\n')
  return { status: Number(text.split(' ', 2)[1]), head: text.slice(0, end), body: text.slice(end + 4) }
}

/**
 * Every row of the named tables, or of all of them, as text: what somebody who steals the database can read.
 */
export async function dumpTables(
  { gateway }: TestGateway,
  names?: readonly string[],
): Promise<Map<string, string[]>> {
  const { db } = gateway.context
  const list = `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`
  const tables = names ?? (await ask<{ name: string }>(db, list)).map(({ name }) => name)
  const rows = tables.map(async (name) => {
    const all = await ask<{ row: string }>(db, `SELECT t::text AS row FROM "${name}" t`)
    return [name, all.map(({ row }) => row)] as const
  })
  return new Map(await Promise.all(rows))
}

/**
 * What partners and the brokerage do all day: publish events with an idempotency key and repeat what got no
 * answer, trade refresh tokens for access tokens, revoke some of them. It remembers what was acknowledged,
 * and nothing else counts as a promise.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { request } from 'undici'
import { formOf } from '../../support/browser.ts'
import { basic } from '../../support/gateway.ts'
import type { House, Node } from './house.ts'

export interface Promises {
  /** Event ids, each with its entity and its place among that entity's events. */
  readonly events: Map<string, { readonly entity: number; readonly place: number }>
  readonly tokens: Set<string>
  readonly revoked: Set<string>
  /** Answers that were no promise: 429, 503, or none at all. */
  refusals: number
  /** Answers that nobody should ever get. */
  readonly wrongAnswers: string[]
}

export interface Traffic {
  readonly promises: Promises
  /**
   * Publishes one event at this node and answers its id when it is acknowledged; gives up when everybody has
   * stopped, or after so long.
   */
  publishAt(node: Node, withinMs: number): Promise<string>
  /** Resolves when everybody has stopped; what had no answer yet is given up. */
  stop(): Promise<void>
}

const publishers = 6
/** What a caller waits for an answer before it asks elsewhere. */
const requestTimeoutMs = 4_000

/** Each of them rests for so long between two requests. */
export function startTraffic(house: House, pauseMs: number): Traffic {
  const promises: Promises = {
    events: new Map(),
    tokens: new Set(),
    revoked: new Set(),
    refusals: 0,
    wrongAnswers: [],
  }
  let stopped = false
  let turn = 0
  let lastEntity = 0
  const anyNode = () => house.nodes[turn++ % house.nodes.length]!

  async function publish(
    entity: number,
    place: number,
    key: string,
    node: Node,
  ): Promise<string | undefined> {
    const event = {
      transactionId: entity,
      clearingAccount: 'CLEARING',
      type: 'TRANSACTION',
      action: 'SUBMITTED',
      branchId: house.branchId,
      email: 'ada@example.com',
      amount: place,
      direction: 'DEPOSIT',
    }
    const headers = { 'content-type': 'application/json', 'idempotency-key': key, ...basic(house.service) }
    const body = JSON.stringify({ events: [event] })
    const answer = await call(promises, `${node.gateway.internalUrl}/internal/v1/events`, headers, body)
    if (answer?.status !== 202) return undefined
    const [id] = (JSON.parse(answer.text) as { eventIds: string[] }).eventIds
    promises.events.set(id!, { entity, place })
    return id
  }
  /** One publisher has its own entities and goes on to the next event only when the last is acknowledged. */
  async function publishAllDay(): Promise<void> {
    const entities = [++lastEntity, ++lastEntity, ++lastEntity]
    for (let round = 0; !stopped; round++) {
      const key = randomUUID()
      const entity = entities[round % entities.length]!
      while (!stopped && !(await publish(entity, 1 + Math.floor(round / entities.length), key, anyNode())))
        await refused()
      await wait(pauseMs)
    }
  }
  async function refreshAllDay(): Promise<void> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...basic(house.client) }
    const fields = { grant_type: 'refresh_token', refresh_token: house.refreshToken }
    for (let round = 0; !stopped; round++) {
      const answer = await call(
        promises,
        `${anyNode().origin}/v1/oauth/refreshtoken`,
        headers,
        formOf(fields),
      )
      if (answer?.status !== 200) {
        await refused()
        continue
      }
      const token = (JSON.parse(answer.text) as { access_token: string }).access_token
      if (round % 3 > 0) promises.tokens.add(token)
      else if (
        (await call(promises, `${anyNode().origin}/v1/oauth/revoke`, headers, formOf({ token })))?.status ===
        200
      )
        promises.revoked.add(token)
      await wait(2 * pauseMs)
    }
  }
  async function refused(): Promise<void> {
    promises.refusals++
    await wait(50)
  }

  const workers = [...Array.from({ length: publishers }, publishAllDay), refreshAllDay()]
  return {
    promises,
    async publishAt(node, withinMs) {
      const giveUpAt = performance.now() + withinMs
      const entity = ++lastEntity
      const key = randomUUID()
      for (;;) {
        const id = await publish(entity, 1, key, node)
        if (id !== undefined) return id
        if (stopped || performance.now() > giveUpAt) throw new Error(`${node.origin} took no event.`)
        await wait(50)
      }
    },
    async stop() {
      stopped = true
      await Promise.all(workers)
    },
  }
}

const expected = [200, 202, 429, 503]

async function call(
  { wrongAnswers }: Promises,
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; text: string } | undefined> {
  try {
    const { statusCode: status, body: answer } = await request(url, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(requestTimeoutMs),
    })
    const text = await answer.text()
    if (!expected.includes(status)) wrongAnswers.push(`${url} answered ${status} ${text}`)
    return { status, text }
  } catch {
    return undefined
  }
}

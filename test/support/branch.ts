/** A partner's program that calls the webhook interface of its branch, and the payloads it plays with. */
import { randomInt } from 'node:crypto'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { type Answer, type SentRequest, send } from './browser.ts'
import { basic, type TestClient, type TestGateway } from './gateway.ts'

export type Headers = Record<string, string>

export interface BranchProgram {
  readonly client: TestClient
  readonly branchId: number
  readonly origin: string
  readonly credentials: Headers
  /** A string is sent as it is; anything else as JSON. */
  call(method: SentRequest['method'], path: string, body?: unknown, headers?: Headers): Promise<Answer>
  /** Registers a webhook and answers its id. */
  register(url: string, extra?: Record<string, unknown>): Promise<number>
  /** Sends a test webhook and waits for the outcome at every URL. */
  /** Answers when every outcome is known, or after so many seconds. */
  fire(payload?: Record<string, unknown>, withinS?: number): Promise<FiredEvent>
}

export interface FiredEvent {
  readonly eventId: string
  readonly deliveries: readonly FiredDelivery[]
}

export interface FiredDelivery {
  readonly id: string
  readonly webhookId: number
  readonly url: string
  readonly state: string
  readonly attempt?: { readonly outcome: string; readonly status?: number; readonly why?: string }
}

export interface ProblemAnswer {
  readonly error: string
  readonly error_description: string
  readonly fields?: readonly { readonly field: string; readonly problem: string }[]
  readonly request_id: string
}

export async function openBranch(
  house: TestGateway,
  options: { environment?: Environment; client?: TestClient } = {},
): Promise<BranchProgram> {
  const { environment = 'live' } = options
  const client = options.client ?? (await house.makeClient({ environment }))
  const origin = environment === 'live' ? house.baseUrl : house.sandboxUrl
  const credentials = basic(client)
  const call: BranchProgram['call'] = (method, path, body, headers = {}) =>
    callJson(origin + path, method, body, { ...credentials, ...headers })
  return {
    client,
    branchId: client.branchId,
    origin,
    credentials,
    call,
    async register(url, extra = {}) {
      const answer = await call('POST', '/v2/webhooks', { url, ...extra })
      if (answer.status !== 201) throw new Error(`Not registered: ${answer.status} ${answer.text}`)
      return answer.json<{ id: number }>().id
    },
    async fire(payload = transaction(), withinS = 20) {
      const answer = await call('POST', pathOf(payload), payload, { prefer: `wait=${withinS}` })
      if (answer.status !== 202) throw new Error(`Not fired: ${answer.status} ${answer.text}`)
      return answer.json<FiredEvent>()
    },
  }
}

export function callJson(
  url: string,
  method: SentRequest['method'] = 'GET',
  body?: unknown,
  headers: Headers = {},
): Promise<Answer> {
  if (body === undefined) return send(url, { method, headers: { accept: 'application/json', ...headers } })
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const sent = { accept: 'application/json', 'content-type': 'application/json', ...headers }
  return send(url, { method, headers: sent, body: text })
}

const paths: Record<string, string> = {
  TRANSACTION: '/v2/webhooks/transaction',
  APPLICATION: '/v2/webhooks/application',
  ACH_PROFILE: '/v2/webhooks/achprofile',
}

export function pathOf(payload: Record<string, unknown>): string {
  return paths[String(payload.type)]!
}

const newId = () => randomInt(1, 2 ** 47)

export function transaction(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    transactionId: newId(),
    clearingAccount: '1234',
    type: 'TRANSACTION',
    action: 'SUBMITTED',
    branchId: 7,
    email: 'test@example.com',
    amount: 500.25,
    direction: 'DEPOSIT',
    ...change,
  }
}

export function application(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    applicationId: newId(),
    clearingAccount: null,
    type: 'APPLICATION',
    action: 'AUTHORIZED',
    branchId: 7,
    email: 'test@example.com',
    ...change,
  }
}

export function achProfile(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    profileId: newId(),
    clearingAccount: '1234',
    type: 'ACH_PROFILE',
    action: 'MICRODEPOSITS_POSTED',
    branchId: 7,
    ...change,
  }
}

/** The problems of a 400, by field. */
export function faultsOf(answer: Answer): Record<string, string> {
  const { fields = [] } = answer.json<ProblemAnswer>()
  return Object.fromEntries(fields.map(({ field, problem }) => [field, problem]))
}

/**
 * The receiver that the sandbox has built in, for partners that have no server yet: a webhook of the branch
 * whose deliveries are signed, queued, retried and settled like all others, and then handed over inside the
 * gateway instead of being dialled. So it opens no way into a network, only the gateway can send to it, and
 * it works wherever the gateway does. It keeps the last few that it was handed, cut to a bounded size.
 */
import { createHmac } from 'node:crypto'
import type { Act } from '../../audit/audit.ts'
import { after, type Clock, day } from '../../clock.ts'
import { equalBytes } from '../../crypto/hash.ts'
import { randomLetters } from '../../crypto/random.ts'
import type { Sql } from '../../database/database.ts'
import { openRateLimit } from '../../http/rate-limit.ts'
import { Conflict, TooManyRequests } from '../../problem.ts'
import { cut } from '../../text/cut.ts'
import type { Branch } from '../events/branch.ts'
import type { BuiltIn, Outcome, PostRequest } from '../outbound/attempt.ts'
import { isOwnHeader } from '../outbound/request-head.ts'
import * as table from './built-in-receivers.sql.ts'
import type { SecretKeeper } from './signing-secrets.ts'
import { createWebhook, hasSigner, type RegistrationDependencies, type Webhook } from './webhook.ts'
import { lockBranch } from './webhooks.sql.ts'

/** 256 bits. */
const tokenLetters = 43
const pathPattern = /\/receiver\/([A-Za-z0-9]{43})$/
/** Of one branch, in one process: what comes beyond is answered and not kept. */
const keptPerMinute = 60
export const receiptsKept = 20
export const receiptDays = 7
const bodyCharacters = 16_000
const headCharacters = 8_000

export interface BuiltInReceiver {
  readonly webhookId: number
  readonly url: string
  readonly state: Webhook['state']
}

export interface Receipt {
  readonly eventUid: string
  readonly verified: boolean
  /** A line each. */
  readonly head: string
  readonly body: string
  readonly receivedAt: Date
}

export async function findReceiver(sql: Sql, branchId: number): Promise<BuiltInReceiver | undefined> {
  return (await sql.query(table.selectReceiver, { branchId }))[0]
}

/** When a signature was first found right, also if the webhook is gone since. */
export async function findVerifiedAt(sql: Sql, branchId: number): Promise<Date | undefined> {
  const [found] = await sql.query(table.selectVerifiedAt, { branchId })
  return found?.verifiedAt ?? undefined
}

export function listReceipts(sql: Sql, branchId: number): Promise<Receipt[]> {
  return sql.query(table.selectReceipts, { branchId, most: receiptsKept })
}

/**
 * The one that there is, or a new one. In a transaction that holds the branch still: of two clicks at once
 * one makes it.
 */
export async function ensureReceiver(
  deps: RegistrationDependencies,
  branch: Branch,
  baseUrl: string,
  act: Act,
): Promise<BuiltInReceiver> {
  if (branch.environment !== 'sandbox') throw new Conflict('The built-in receiver is in the sandbox alone.')
  await deps.db.query(lockBranch, { branchId: branch.branchId })
  return (await findReceiver(deps.db, branch.branchId)) ?? makeReceiver(deps, branch, baseUrl, act)
}

async function makeReceiver(
  deps: RegistrationDependencies,
  branch: Branch,
  baseUrl: string,
  act: Act,
): Promise<BuiltInReceiver> {
  const token = randomLetters(tokenLetters)
  const url = `${baseUrl}/receiver/${token}`
  // Signed as the partner's own webhooks are, once there is something to sign with.
  const secret = (await hasSigner(deps.db, branch)) ? undefined : randomLetters(tokenLetters)
  const draft = { url, secret, kinds: undefined, description: 'Built-in receiver' }
  const policy = { ...deps.policy, builtIn: url }
  const { id, state } = await createWebhook({ ...deps, policy }, branch, undefined, draft, act)
  await deps.db.query(table.upsertReceiver, {
    branchId: branch.branchId,
    token,
    webhookId: id,
    now: act.at,
  })
  return { webhookId: id, url, state }
}

export function removeOldReceipts(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldReceipts, { until: after(now, -receiptDays * day), most })
}

interface ReceiverDependencies {
  readonly db: Sql
  readonly clock: Clock
  readonly secrets: SecretKeeper
}

/**
 * Where deliveries are handed over. What looks like its address and is not the webhook's own goes the way of
 * all others.
 */
export function openBuiltIn({ db, clock, secrets }: ReceiverDependencies): BuiltIn {
  const mayKeep = openAllowance(clock)
  return {
    isMeant: ({ url, webhookId }) => webhookId !== undefined && pathPattern.test(url),
    async take(message) {
      const { url, webhookId } = message
      const token = pathPattern.exec(url)?.[1]
      if (webhookId === undefined || token === undefined) return undefined
      const [taker] = await db.query(table.selectTaker, { webhookId, token, url })
      if (!taker) return undefined
      const now = clock.now()
      const living = await secrets.find(webhookId, now)
      const verified = (living?.all ?? []).some((secret) => isSignedBy(message, secret))
      if (await mayKeep(taker.branchId)) await keep(db, taker.branchId, message, verified, now)
      return answer(verified)
    },
  }
}

function openAllowance(clock: Clock): (branchId: number) => Promise<boolean> {
  const rate = openRateLimit(clock, keptPerMinute, 'Not kept.')
  return async (branchId) => {
    try {
      await rate.count(String(branchId))
      return true
    } catch (error) {
      if (error instanceof TooManyRequests) return false
      throw error
    }
  }
}

async function keep(
  db: Sql,
  branchId: number,
  message: PostRequest,
  verified: boolean,
  now: Date,
): Promise<void> {
  const { headers, body } = message
  await db.query(table.insertReceipt, {
    branchId,
    eventUid: cut(headers['webhook-id'] ?? '', 100),
    verified,
    head: cut(printKept(headers), headCharacters),
    body: cut(body, bodyCharacters),
    now,
    kept: receiptsKept - 1,
  })
}

/** What the partner chose may be a credential: it is sealed where it is kept, and not written down here. */
function printKept(headers: PostRequest['headers']): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `${name}: ${isOwnHeader(name) ? value : '(not shown)'}`,
  )
  return lines.join('\n')
}

/** As the documentation tells receivers to do it, by code that has nothing to do with what signs. */
function isSignedBy({ headers, body }: PostRequest, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(body).digest('hex')
  return equalBytes(Buffer.from(headers['x-webhook-signature'] ?? ''), Buffer.from(expected))
}

function answer(verified: boolean): Outcome {
  if (verified) return { kind: 'accepted', status: 200, response: '{"verified":true}' }
  return { kind: 'refused', status: 401, response: '{"verified":false}', retryAfter: undefined }
}

/**
 * Sends alerts that are due. One worker at a time has the alerts of an address in hand, under a lease; a message
 * is sent before that is written down: a node that dies between the two costs a second copy, with the same ids.
 * What is not taken is tried three times in all, and then only the page says so.
 */
import type { Logger } from 'pino'
import { after, type Clock, hour, minute } from '../clock.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Database } from '../database/database.ts'
import type { SiteAddresses } from '../vocabulary/environment.ts'
import type { Outcome, Sender } from '../webhooks/outbound/attempt.ts'
import { printHead } from '../webhooks/outbound/request-head.ts'
import { printSignatures } from '../webhooks/outbound/signature.ts'
import type { ClaimedAlert } from './alerts.sql.ts'
import * as table from './alerts.sql.ts'
import { mailAlerts } from './mail.ts'
import { printBody } from './message.ts'
import { codeOf, openAlertSecret } from './target.ts'

/** To all addresses of a partner together, and by mail to its members; the same for the brokerage. */
const messagesAnHour = 20
/** Longer than an attempt takes. */
const leaseMs = minute
const waitsMs = [minute, 10 * minute] as const
const claimedAtMost = 1_000
/** Receivers that hang hold up so many messages and no others. */
const atOnce = 8

interface DispatchDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly vault: Vault
  readonly sender: Sender
  readonly addresses: SiteAddresses
  readonly nameOfBrokerage: () => Promise<string>
  readonly closing: AbortSignal
}

/** Everything that is due; answers how many messages were sent. */
export async function sendDueAlerts(deps: DispatchDependencies): Promise<number> {
  let sent = 0
  const work = async () => {
    while (!deps.closing.aborted && (await sendNext(deps))) sent++
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return sent
}

async function sendNext(deps: DispatchDependencies): Promise<boolean> {
  const { db, clock } = deps
  const claimId = crypto.randomUUID()
  const now = clock.now()
  const claimed = await db.transaction(async (sql) => {
    // One claim at a time, so that none overlooks what another counts.
    await sql.query(table.lockAlerts)
    return sql.query(table.claimAlerts, {
      ...{ claimId, now, until: after(now, leaseMs), hourAgo: after(now, -hour) },
      ...{ most: messagesAnHour, listed: claimedAtMost },
    })
  })
  const alerts = claimed.sort((one, other) => one.id - other.id)
  const [first] = alerts
  if (!first) return false
  if (first.targetKind === 'mail') {
    const ids = alerts.map(({ id }) => id)
    await db.transaction(async (sql) => {
      const settled = await sql.query(table.settleAlerts, { claimId, ids, state: 'sent' })
      await mailAlerts(sql, first.ofBrokerage, settled, clock.now())
    })
    return true
  }
  const outcome = await post(deps, alerts, first)
  await settle(deps, claimId, alerts, outcome)
  return true
}

async function post(
  { vault, sender, clock, addresses, nameOfBrokerage }: DispatchDependencies,
  alerts: readonly ClaimedAlert[],
  { id, targetId, url, sealed, attempts, ofBrokerage }: ClaimedAlert,
): Promise<Outcome> {
  const secret = sealed ? openAlertSecret(vault, targetId, sealed) : undefined
  if (url === null || secret === undefined) return { kind: 'unreachable', why: 'no-secret' }
  const body = printBody(alerts, {
    ...{ brokerage: await nameOfBrokerage(), addresses },
    ...{ reader: ofBrokerage ? 'staff' : 'partner', codeOf: (alertId) => codeOf(vault, alertId) },
  })
  // The same alerts once more are the same message.
  const message = { id: `alert_${id}_${alerts.at(-1)!.id}`, body, sentAt: clock.now() }
  const simulated = alerts.every(({ kind }) => kind === 'test')
  const signatures = printSignatures(message, { current: secret, all: [secret] })
  const headers = printHead({ ...message, attempt: attempts, simulated }, signatures)
  return (await sender.post({ url, headers, body })).outcome
}

async function settle(
  { db, clock, log, closing }: DispatchDependencies,
  claimId: string,
  alerts: readonly ClaimedAlert[],
  outcome: Outcome,
): Promise<void> {
  const now = clock.now()
  const words = outcome.kind === 'unreachable' ? outcome.why : String(outcome.status)
  const settleAs = (some: readonly ClaimedAlert[], state: string, dueAt?: Date) =>
    db.query(table.settleAlerts, { claimId, ids: some.map(({ id }) => id), state, outcome: words, dueAt })
  if (outcome.kind === 'accepted') {
    await settleAs(alerts, 'sent')
    return
  }
  log.warn({ alert: alerts[0]!.id, outcome: words }, 'an alert could not be sent')
  for (const [attempts, some] of Map.groupBy(alerts, (alert) => alert.attempts)) {
    const wait = waitsMs[attempts - 1]
    if (wait === undefined) await settleAs(some, 'given up')
    else await settleAs(some, 'waiting', closing.aborted ? now : after(now, wait))
  }
}

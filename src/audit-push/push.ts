/**
 * Pushes the audit log to the collector that the settings name, block after block, each at least once. One
 * process of all nodes has it in hand at a time, under a lease; the position moves when the collector has
 * acknowledged. Whoever dies in between leaves blocks that are sent again.
 */
import type { Logger } from 'pino'
import type { ChainHead } from '../audit/block.ts'
import { openHeadSigner } from '../audit/head-signer.ts'
import { findStart, readOn } from '../audit/stream.ts'
import { after, type Clock, minute, second } from '../clock.ts'
import type { Vault } from '../crypto/vault.ts'
import { type Database, DatabaseUnavailable } from '../database/database.ts'
import type { AuditPushConfig } from '../settings/config.ts'
import { cut } from '../text/cut.ts'
import type { Collector } from './collector.ts'
import { failureOf } from './collector.ts'
import * as table from './listeners.sql.ts'

/** Longer than a push takes. */
const leaseMs = minute
/** After the first failure, the second, and so on. */
const waitsMs = [1, 2, 5, 10, 30, 60].map((seconds) => seconds * second)

interface PushDependencies {
  readonly db: Database
  readonly vault: Vault
  readonly clock: Clock
  readonly log: Logger
  readonly closing: AbortSignal
  readonly config: AuditPushConfig
  readonly collector: Collector
}

/** Everything that has not been heard; answers how many blocks were. */
export async function pushAudit(deps: PushDependencies): Promise<number> {
  const { db, clock, config, closing } = deps
  if (closing.aborted) return 0
  const { address } = config
  const holder = crypto.randomUUID()
  const now = clock.now()
  const [claimed] = await db.query(table.claimListener, { address, holder, now, until: after(now, leaseMs) })
  if (!claimed) return 0
  try {
    const heard = await pushAll(deps, holder, claimed)
    await db.query(table.releaseListener, { address, holder, now: clock.now() })
    return heard
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    await fail(deps, holder, claimed.failures, error instanceof Unheard ? error.message : failureOf(error))
    return 0
  }
}

class Unheard extends Error {}

async function pushAll(
  { db, vault, clock, log, closing, config: { address, host }, collector }: PushDependencies,
  holder: string,
  { position, failures }: { readonly position: number; readonly failures: number },
): Promise<number> {
  const signer = await openHeadSigner(db, vault)
  let last: ChainHead = await findStart(db, String(position))
  let heard = 0
  while (!closing.aborted) {
    const blocks = await readOn(db, signer, last, clock.now())
    const newest = blocks.at(-1)
    if (!newest) break
    const failure = await collector.push(blocks, closing)
    if (failure !== undefined && closing.aborted) break
    if (failure !== undefined) throw new Unheard(failure)
    const now = clock.now()
    const values = { address, holder, position: newest.position, now, until: after(now, leaseMs) }
    // Another has taken over meanwhile, and goes on from where it found the position.
    if ((await db.query(table.advanceListener, values)).length === 0) break
    if (heard === 0 && failures > 0) log.info({ collector: host }, 'the audit log is heard again')
    last = newest
    heard += blocks.length
  }
  return heard
}

async function fail(
  { db, clock, log, config: { address, host } }: PushDependencies,
  holder: string,
  failures: number,
  words: string,
): Promise<void> {
  const now = clock.now()
  const failure = cut(words, 300)
  const due = after(now, waitsMs[failures] ?? waitsMs.at(-1)!)
  await db.query(table.failListener, { address, holder, now, due, failure })
  if (failures === 0) log.warn({ collector: host, failure }, 'the audit log is not heard; it is sent again')
}

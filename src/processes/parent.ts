/**
 * `serve` with several processes: the parent. It owns the private PostgreSQL, brings the schema up to date,
 * makes what is made once, counts for all, answers Prometheus, and watches over the children, which do the
 * work. It answers no request itself, and loads nothing that they do it with.
 */
import type { Logger } from 'pino'
import type { Vault } from '../crypto/vault.ts'
import { findConnectionRoom } from '../database/connection-room.ts'
import type { Database } from '../database/database.ts'
import { openKeys } from '../database/keys.ts'
import { openStorage } from '../database/storage.ts'
import { openMetricsServer } from '../metrics/server.ts'
import type { Config } from '../settings/config.ts'
import { wantedConnections } from '../settings/share.ts'
import type { NodeAddresses } from '../vocabulary/environment.ts'
import { type Counter, openCounter } from './counter.ts'
import { type Family, openFamily } from './family.ts'
import type { ChildMessage } from './messages.ts'
import type { MetricsSum } from './metrics-sum.ts'

type AskMessage = Extract<ChildMessage, { kind: 'ask' }>

interface Parent extends NodeAddresses {
  readonly db: Database
  readonly vault: Vault
  close(): Promise<void>
}

/** Requests of one listener after the other, then attempts under way. */
const stopTimeoutMs = (config: Config) => 3 * config.limits.requestTimeoutMs + 15_000

export async function openParent(config: Config, log: Logger, program: string): Promise<Parent> {
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const { db, close: closeStorage } = await openStorage(config, 'parent', (message) => log.warn(message))
    closers.push(closeStorage)
    const vault = await openKeys(db, config.keySource)
    await tellRoom(config, db, log)
    const counter = openCounter()
    const sum: MetricsSum | undefined =
      config.metrics && (await import('./metrics-sum.ts')).openMetricsSum(() => family)
    const family: Family = openFamily({
      log,
      program,
      processes: config.processes,
      stopTimeoutMs: stopTimeoutMs(config),
      heard(child, message) {
        if (message.kind === 'ask') answer(family, counter, child, message)
        if (message.kind === 'spent') family.tell(message, child)
        if (message.kind === 'leave') counter.leave(child, message.places, message.key)
        if (message.kind === 'metrics') sum?.hear(child, message)
      },
      ended(child) {
        counter.forget(child)
        sum?.forget(child)
      },
    })
    closers.push(family.close)
    const addresses = await family.start()
    if (sum && config.metrics) closers.push((await openMetricsServer(sum, config.metrics)).close)
    return { ...addresses, db, vault, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Better said at the start than found out under load. */
async function tellRoom(config: Config, db: Database, log: Logger): Promise<void> {
  const { free, limit } = await findConnectionRoom(db)
  const wanted = wantedConnections(config)
  if (free >= wanted) return
  const { processes } = config
  log.warn(
    { free, wanted, processes },
    `${processes} processes take up to ${wanted} connections to PostgreSQL, and ${free} are free: raise ${limit}, or lower DATABASE_CONNECTIONS or PROCESSES`,
  )
}

function answer(family: Family, counter: Counter, child: number, question: AskMessage): void {
  const { answers, counted } = counter.answer(child, question.questions)
  family.say(child, { kind: 'answer', number: question.number, answers })
  if (counted.length > 0) family.tell({ kind: 'tell', counted }, child)
}

/**
 * `serve` with several processes: the parent. It owns the private PostgreSQL, brings the schema up to date, makes what is made once, counts
 * for all, answers Prometheus, and watches over the children, who do the work. It answers no request itself, and loads nothing that they do it with.
 */
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { openVault, type Vault } from '../crypto/vault.ts'
import type { Database } from '../database/database.ts'
import { openStorage } from '../storage.ts'
import { type Counter, openCounter } from './counter.ts'
import { type Addresses, type Family, openFamily } from './family.ts'
import type { FromChild } from './messages.ts'

type Asked = Extract<FromChild, { kind: 'ask' }>

export interface Parent extends Addresses {
  readonly db: Database
  readonly vault: Vault
  close(): Promise<void>
}

/** Requests of one site after the other, then attempts under way. */
const stopPatienceMs = (config: Config) => 2 * config.limits.requestTimeoutMs + 15_000

export async function openParent(config: Config, log: Logger, program: string): Promise<Parent> {
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const vault = openVault(config.keySource)
    const { db, close: closeStorage } = await openStorage(config, 'parent', (message) => log.warn(message))
    closers.push(closeStorage)
    const family = openCountingFamily(config, log, program)
    closers.push(family.close)
    return { ...(await family.start()), db, vault, close }
  } catch (error) {
    await close()
    throw error
  }
}

function openCountingFamily(config: Config, log: Logger, program: string): Family {
  const counter = openCounter()
  const family: Family = openFamily({
    log,
    program,
    processes: config.processes,
    stopPatienceMs: stopPatienceMs(config),
    heard(child, message) {
      if (message.kind === 'ask') answer(family, counter, child, message)
      if (message.kind === 'leave') counter.leave(child, message.places, message.key)
    },
    ended: counter.forget,
  })
  return family
}

function answer(family: Family, counter: Counter, child: number, asked: Asked): void {
  const { answers, counted } = counter.answer(child, asked.questions)
  family.say(child, { kind: 'answer', number: asked.number, answers })
  if (counted.length > 0) family.tell({ kind: 'tell', counted }, child)
}

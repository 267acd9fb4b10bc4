/**
 * The engine by itself: a database, webhooks of one or more branches, a receiver on loopback, and workers
 * without a gateway around them.
 */

import { pino } from 'pino'
import { openChanges } from '../../src/database/changes.ts'
import type { Database } from '../../src/database/database.ts'
import { openRounds } from '../../src/database/rounds.ts'
import type { AttemptRecord } from '../../src/webhooks/engine/attempt-record.ts'
import { DeliveryWorker } from '../../src/webhooks/engine/worker.ts'
import { openDaysAhead } from '../../src/webhooks/events/days.ts'
import { insertEvents, type NewEvent } from '../../src/webhooks/events/event.ts'
import type { NumberedBatch } from '../../src/webhooks/events/numbered-batch.ts'
import { learnLayout, partOf } from '../../src/webhooks/events/part.ts'
import { openSender } from '../../src/webhooks/outbound/attempt.ts'
import { ask } from '../support/ask.ts'
import { TestClock } from '../support/clock.ts'
import { openTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { followByHand } from '../support/follow.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { lookInside } from '../support/look-inside.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { isWaiting } from '../support/waiting.ts'

export interface EngineHouse {
  readonly db: Database
  readonly clock: TestClock
  readonly receiver: Receiver
  readonly attempts: AttemptRecord[]
  sql<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>
  makeBranch(): Promise<number>
  makeWebhook(branchId: number, path: string, kinds?: readonly string[]): Promise<number>
  publish(branchId: number, entities: readonly string[]): Promise<void>
  /** Published and numbered in one transaction, and nobody is told. */
  number(branchId: number, entities: readonly string[]): Promise<NumberedBatch>
  /** Somebody waits for a lock. */
  untilBlocked(): Promise<void>
  openWorker(lingerMs?: number): Promise<DeliveryWorker>
  close(): Promise<void>
}

export async function openEngineHouse(): Promise<EngineHouse> {
  const database = await openTestDatabase()
  const clock = new TestClock()
  const receiver = await openReceiver()
  const db = openLenientDatabase({ connectionString: database.url, connections: 6 })
  const log = pino({ level: process.env.LOG_LEVEL ?? 'silent' })
  const closers: (() => Promise<unknown>)[] = [
    () => database.close(),
    () => db.close(),
    () => receiver.close(),
  ]
  const attempts: AttemptRecord[] = []
  const sql = <Row extends object>(text: string, values: readonly unknown[] = []) =>
    ask<Row>(db, text, values)
  await learnLayout(db)
  await openDaysAhead(db, clock.now())
  let branches = 0
  return {
    ...{ db, clock, receiver, attempts, sql },
    async makeBranch() {
      const [row] = await sql<{ id: number }>(
        `INSERT INTO partners (name, status, created_at, updated_at) VALUES ($1, 'approved', now(), now())
          RETURNING branch_id AS id`,
        [`Partner ${++branches}`],
      )
      return row!.id
    },
    async makeWebhook(branchId, path, kinds = ['TRANSACTION']) {
      const [row] = await sql<{ id: number }>(
        `INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
          VALUES ($1, 'live', $2, $3, now(), now()) RETURNING id`,
        [branchId, receiver.url(path), kinds],
      )
      await db.script(followByHand)
      return row!.id
    },
    async publish(branchId, entities) {
      await insertEvents(
        db,
        entities.map((entity) => eventOf(branchId, entity)),
        clock.now(),
      )
    },
    number: (branchId, entities) =>
      db.transaction(async (sql) => {
        const events = entities.map((entity) => eventOf(branchId, entity))
        await insertEvents(sql, events, clock.now())
        return lookInside(db, sql, partOf(branchId), clock.now())
      }),
    async untilBlocked() {
      await eventually('somebody who waits', () => isWaiting(db))
    },
    async openWorker(lingerMs = 60_000) {
      const changes = await openChanges({ db, streamDb: db }, async () => {})
      const rounds = openRounds({ db, clock, log })
      const sender = openSender({
        policy: { allowLoopback: true, ports: [] },
        dnsServers: [],
        certificateAuthority: undefined,
      })
      const worker = new DeliveryWorker({
        ...{ db, rounds, changes, clock, log, sender, lingerMs },
        secrets: { find: () => ({ current: 'secret', all: ['secret'] }) },
        headers: { find: () => ({}) },
        attempted: [(attempt) => void attempts.push(attempt)],
        grown: () => {},
        isFollowed: () => false,
      })
      closers.push(async () => {
        await worker.close()
        await rounds.close()
        await changes.close()
        await sender.close()
      })
      return worker
    },
    async close() {
      for (const close of closers.reverse()) await close()
    },
  }
}

function eventOf(branchId: number, entity: string): NewEvent {
  return {
    environment: 'live',
    branchId,
    kind: 'TRANSACTION',
    action: 'SUBMITTED',
    entity,
    body: JSON.stringify({ entity }),
    simulated: false,
  }
}

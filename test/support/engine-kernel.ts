/**
 * The engine's tables, driven by its functions alone, one step at a time: for tests of what reads them,
 * without any worker.
 */

import { readFileSync } from 'node:fs'
import type { Database } from '../../src/database/database.ts'
import type { Environment } from '../../src/vocabulary/environment.ts'
import { parseDeliveryId } from '../../src/webhooks/engine/delivery-id.ts'
import { saidBy } from '../../src/webhooks/engine/response-texts.ts'
import { logOf } from '../../src/webhooks/events/branch-log.ts'
import { openDaysAhead } from '../../src/webhooks/events/days.ts'
import { learnLayout, partOf } from '../../src/webhooks/events/part.ts'
import type { Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { webhookColumns } from '../../src/webhooks/subscriptions/webhooks.sql.ts'
import { ask } from './ask.ts'
import { TestClock } from './clock.ts'
import { openTestDatabase } from './database.ts'
import { followByHand } from './follow.ts'
import { openLenientDatabase } from './lenient-database.ts'
import { lookAtAll } from './look-inside.ts'

export interface AttemptOptions {
  readonly state?: 'retrying' | 'delivered' | 'exhausted'
  readonly number?: number
  readonly status?: number
  readonly dueInMs?: number
  readonly response?: string
  /** Attempts in a row that were not accepted, as the lane counts them. */
  readonly failures?: number
}

export interface Kernel {
  readonly db: Database
  readonly clock: TestClock
  readonly branchId: number
  addPartner(name: string): Promise<number>
  register(settings?: {
    kinds?: readonly string[]
    actions?: object
    branchId?: number
    environment?: Environment
  }): Promise<Webhook>
  /** Events of entities, each numbered by a look; answers their uids. */
  publish(entities: readonly string[], more?: Partial<PublishedOptions>): Promise<string[]>
  look(part?: number): Promise<number>
  /**
   * What became of an attempt of a delivery, written down by the lane's holder. Its position is moved to what
   * it says.
   */
  attempt(deliveryId: string, made?: AttemptOptions, position?: number): Promise<void>
  close(): Promise<void>
}

interface PublishedOptions {
  readonly kind: string
  readonly action: string
  readonly branchId: number
  readonly environment: Environment
  readonly simulated: boolean
  readonly webhookId: number
  /** Committed, and not numbered yet. */
  readonly unread: boolean
}

const insertPartner = `INSERT INTO partners (name, status, created_at, updated_at) VALUES ($1, 'approved', $2, $2)
    RETURNING branch_id AS "branchId"`
const insertWebhook = `INSERT INTO webhooks (branch_id, environment, url, kinds, actions, created_at, updated_at)
   VALUES ($1, $2, 'https://receiver.example/hooks', $3, $4, $5, $5) RETURNING ${webhookColumns}`
const insertOutbox = `INSERT INTO outbox (part, feed, simulated, webhook_id, created_at, kind, action, entity, body)
   SELECT $1, $2, $3, $4, $5, $6, $7, entity, '{"entity":"' || entity || '"}'
     FROM unnest($8::text[]) AS entity RETURNING uid`
const takeLane = `UPDATE cursors SET holder = 1, epoch = epoch + 1, wake_at = '-infinity' WHERE part = $1 AND webhook_id = $2
    RETURNING epoch, position, feed`
const selectEntry = 'SELECT day, entity FROM log WHERE part = $1 AND feed = $2 AND seq = $3'
const findException = 'SELECT FROM exceptions WHERE part = $1 AND webhook_id = $2 AND entity = $3'
const settleNames = readFileSync(new URL('../../migrations/0012-engine.sql', import.meta.url), 'utf8')
  .match(/FUNCTION settle\(([^)]*)\)/)![1]!
  .split(',')
  .map((argument) => argument.trim().split(/\s+/)[0]!)
const settle = `SELECT FROM settle(${settleNames.map((name, at) => `${name} => $${at + 1}`).join(', ')})`

export async function openKernel(): Promise<Kernel> {
  const database = await openTestDatabase()
  const db = openLenientDatabase({ connectionString: database.url, connections: 4 })
  const clock = new TestClock()
  await learnLayout(db)
  await openDaysAhead(db, clock.now())
  const addPartner = async (name: string) =>
    (await ask<{ branchId: number }>(db, insertPartner, [name, clock.now()]))[0]!.branchId
  const branchId = await addPartner('Kernel')

  async function lookAt(part = partOf(branchId)): Promise<number> {
    return (await lookAtAll(db, part, clock.now())).length
  }

  return {
    db,
    clock,
    branchId,
    addPartner,
    async register({
      kinds = ['TRANSACTION'],
      actions = {},
      branchId: of = branchId,
      environment = 'live',
    } = {}) {
      const [webhook] = await ask<Webhook>(db, insertWebhook, [of, environment, kinds, actions, clock.now()])
      await db.script(followByHand)
      return webhook!
    },
    async publish(entities, more = {}) {
      const {
        kind = 'TRANSACTION',
        action = 'SUBMITTED',
        environment = 'live',
        simulated = false,
        webhookId,
      } = more
      const { part, feed } = logOf({ branchId: more.branchId ?? branchId, environment })
      const values = [part, feed, simulated, webhookId, clock.now(), kind, action, entities]
      const rows = await ask<{ uid: string }>(db, insertOutbox, values)
      if (!more.unread) await lookAt(part)
      return rows.map(({ uid }) => uid)
    },
    look: lookAt,
    async attempt(deliveryId, made = {}, position) {
      const { webhookId, seq, round } = parseDeliveryId(deliveryId)!
      const { state = 'delivered', status = state === 'delivered' ? 200 : 500, response } = made
      const number = made.number ?? 1
      const now = clock.now()
      await db.transaction(async (sql) => {
        const part = (
          await ask<{ part: number }>(sql, 'SELECT part_of(branch_id) AS part FROM webhooks WHERE id = $1', [
            webhookId,
          ])
        )[0]!.part
        const [lane] = await ask<{ epoch: number; position: number; feed: number }>(sql, takeLane, [
          part,
          webhookId,
        ])
        const [entry] = await ask<{ day: number; entity: string }>(sql, selectEntry, [part, lane!.feed, seq])
        const due = state === 'retrying' ? new Date(now.getTime() + (made.dueInMs ?? 30_000)) : null
        const failing =
          round === 0 && (await ask(sql, findException, [part, webhookId, entry!.entity])).length > 0
        const isException = round === 0 && (due !== null || failing)
        const failures = made.failures ?? (state === 'delivered' ? 0 : number)
        const { day } = entry!
        const given: Record<string, unknown> = {
          ...{
            p: part,
            now,
            today: day,
            lw: [webhookId],
            lepoch: [lane!.epoch],
            lposition: [position ?? null],
          },
          ...{ lread: [Math.max(seq, position ?? 0, lane!.position)], lhold: [null], lfailures: [failures] },
          lsince: [failures > 0 ? now : null],
          ...{
            ow: [webhookId],
            oseq: [seq],
            oround: [round],
            oattempt: [number],
            oday: [day],
            oat: [now],
            oms: [5],
          },
          ...{
            ostatus: [status],
            ostate: [state],
            ooutcome: [state === 'delivered' ? 'accepted' : 'refused'],
            owhy: [null],
          },
          ...(response !== undefined && {
            ...{
              osaid: [saidBy(webhookId, response, undefined)?.said],
              aw: [webhookId],
              asaid: [saidBy(webhookId, response, undefined)?.said],
              aresponse: [response],
              adetail: [null],
            },
          }),
          ...(isException && {
            ...{
              xw: [webhookId],
              xentity: [entry!.entity],
              xseq: [seq],
              xday: [day],
              xattempts: [number],
              xdue: [due],
            },
          }),
          ...(round > 0 && {
            ...{
              gw: [webhookId],
              gseq: [seq],
              ground: [round],
              gday: [day],
              gentity: [entry!.entity],
              gattempts: [number],
              gdue: [due],
            },
          }),
        }
        await ask(
          sql,
          settle,
          settleNames.map((name) => given[name] ?? []),
        )
      })
    },
    async close() {
      await db.close()
      await database.close()
    },
  }
}

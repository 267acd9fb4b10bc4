/**
 * The delivery engine in a whole gateway, with a partner's receiver on loopback, and what tests of it need to
 * see.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Logger } from 'pino'
import type { Database } from '../../src/database/database.ts'
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts'
import { readConfig } from '../../src/settings/config.ts'
import { dayOf } from '../../src/webhooks/events/days.ts'
import type { NewEvent, PublishedEvent } from '../../src/webhooks/events/event.ts'
import type { Kind } from '../../src/webhooks/events/kind.ts'
import { feedOf, partOf } from '../../src/webhooks/events/part.ts'
import { createWebhook, type Webhook } from '../../src/webhooks/subscriptions/webhook.ts'
import type { SettingsChange } from '../../src/webhooks/subscriptions/webhook-settings.ts'
import { ask } from './ask.ts'
import { type Answer, type SentRequest, send } from './browser.ts'
import { eventually } from './eventually.ts'
import { basic, nodeOptions, openTestGateway, type TestClient, type TestGateway } from './gateway.ts'
import { openReceiver, type Receiver } from './receiver.ts'

export interface EventDraft {
  readonly entity?: string
  readonly action?: string
  readonly kind?: Kind
  readonly branchId?: number
  readonly body?: string
}

export interface DeliveryRow {
  readonly id: string
  readonly webhook_id: number
  readonly seq: number
  readonly round: number
  readonly state: string
  readonly entity: string
  /** That were made. */
  readonly attempts: number
  /** Of one that failed and is tried again. */
  readonly due_at: Date | null
  readonly uid: string
}

export interface AttemptRow {
  readonly seq: number
  readonly round: number
  readonly number: number
  readonly at: Date
  readonly duration_ms: number
  readonly outcome: string
  readonly status: number | null
  readonly why: string | null
  readonly response: string | null
}

export interface CursorRow {
  readonly position: number
  readonly epoch: number
  readonly holder: number | null
  readonly wake_at: Date | number
  readonly is_open: boolean
  readonly hold_until: Date | number
  readonly failures: number
  readonly failing_since: Date | null
}

export interface Engine {
  readonly house: TestGateway
  readonly receiver: Receiver
  readonly db: Database
  readonly branchId: number
  readonly client: TestClient
  /** A path of the receiver, or a whole URL. */
  makeWebhook(
    target: string,
    options?: SettingsChange & { kinds?: readonly Kind[]; branchId?: number },
  ): Promise<Webhook>
  publish(...drafts: EventDraft[]): Promise<PublishedEvent[]>
  sql<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>
  deliveries(webhook: Webhook): Promise<DeliveryRow[]>
  attempts(webhook: Webhook): Promise<AttemptRow[]>
  cursor(webhook: Webhook): Promise<CursorRow>
  /** How many deliveries have not ended, over all webhooks. */
  unfinished(): Promise<{ readonly waiting: number; readonly blocked: number }>
  /** A call of the interface as the partner's client. */
  call(method: SentRequest['method'], path: string, body?: object): Promise<Answer>
  /** Nothing is unnumbered, and no lane in anybody's hands or to be taken. */
  idle(withinMs?: number): Promise<void>
  /**
   * Moves the clock to the moment at which some lane wakes, and as far beyond as is said; answers how far
   * that moment was. Only when idle.
   */
  advanceToNextLook(beyondMs?: number): Promise<number>
  /** Workers do not see the clock move: they would look within a second by themselves. */
  wake(): Promise<void>
  /** Another node on the same database and clock. */
  openNode(settings?: NodeJS.ProcessEnv): Promise<Gateway>
  close(): Promise<void>
}

/** A process is a node as far as lanes and memory go: `PROCESSES=3` has every engine run so many. */
const processes = Number(process.env.PROCESSES ?? 1)

export async function openEngine(settings: NodeJS.ProcessEnv = {}, log?: Logger): Promise<Engine> {
  const house = await openTestGateway({ WEBHOOK_ALLOW_LOOPBACK: 'true', ...settings }, log)
  const receiver = await openReceiver()
  const partner = await house.makePartner()
  const client = await house.makeClient({ partner })
  const { db, vault, guard } = house.gateway.context
  const branchId = partner.branchId
  const nodes: Gateway[] = []
  const sql = <Row extends object>(text: string, values: readonly unknown[] = []) =>
    ask<Row>(db, text, values)
  const wake = async () => {
    await sql(`SELECT pg_notify('countersign_work', '*')`)
  }
  const openNode = async (extra: NodeJS.ProcessEnv = {}) => {
    const node = await openGateway(readConfig({ ...house.settings, ...extra }), {
      clock: house.clock,
      ...nodeOptions,
    })
    nodes.push(node)
    return node
  }
  for (let process = 1; process < processes; process++) await openNode()

  return {
    ...{ house, receiver, db, branchId, client, sql },
    makeWebhook(target, { kinds, branchId: branch = branchId, ...settings } = {}) {
      const url = target.startsWith('/') ? receiver.url(target) : target
      const owner = { branchId: branch, environment: 'live' as const }
      const draft = {
        ...settings,
        url,
        kinds,
        secret: branch === branchId ? undefined : 'a secret of its own',
      }
      return createWebhook({ db, vault, policy: guard }, owner, undefined, draft, house.act())
    },
    publish: async (...drafts) => {
      const events = drafts.map((draft) => eventOf(branchId, draft))
      return [...(await house.gateway.context.publisher.publish(events, house.clock.now()))]
    },
    deliveries: ({ id }) => readDeliveries(sql, id),
    attempts: (webhook) =>
      sql<AttemptRow>(
        `SELECT o.*, o.attempt AS number, a.response FROM outcomes o LEFT JOIN LATERAL (SELECT response
          FROM answers WHERE part = o.part AND webhook_id = o.webhook_id AND said = o.said LIMIT 1) a ON true
         WHERE o.webhook_id = $1 AND o.attempt > 0 ORDER BY o.at, o.seq, o.round, o.attempt`,
        [webhook.id],
      ),
    async unfinished() {
      const webhooks = await sql<{ id: number }>('SELECT webhook_id AS id FROM cursors')
      const states = new Map([
        ['waiting', 0],
        ['blocked', 0],
      ])
      for (const { id } of webhooks)
        for (const { state } of await readDeliveries(sql, id)) states.set(state, (states.get(state) ?? 0) + 1)
      return { waiting: states.get('waiting')!, blocked: states.get('blocked')! }
    },
    async cursor(webhook) {
      return (await sql<CursorRow>('SELECT * FROM cursors WHERE webhook_id = $1', [webhook.id]))[0]!
    },
    call: (method, path, body) =>
      send(`${house.baseUrl}${path}`, {
        ...(method && { method }),
        headers: { ...basic(client), ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      }),
    async idle(withinMs) {
      await eventually('an idle engine', () => isIdle(sql, house.clock.now()), withinMs)
    },
    async advanceToNextLook(beyondMs = 0) {
      const [row] = await sql<{ at: Date | null }>(
        `SELECT min(at) FILTER (WHERE isfinite(at)) AS at FROM (SELECT CASE WHEN holder IS NULL
          THEN wake_at ELSE hold_until END AS at FROM cursors WHERE is_open) looks`,
      )
      const waitMs = row!.at ? Math.max(0, row!.at.getTime() - house.clock.now().getTime()) : 0
      house.clock.advance(waitMs + beyondMs)
      await wake()
      return waitMs
    },
    wake,
    openNode,
    async close() {
      const closing = Promise.all(nodes.map((node) => node.close()))
      // Hung connections end with the receiver; otherwise the drain would wait for their deadline.
      await receiver.close()
      await closing
      await house.close()
    },
  }
}

/** Every lane sleeps, is shut, or is held for a receiver that wants to be left alone. */
async function isIdle(sql: Engine['sql'], now: Date): Promise<boolean> {
  const unnumbered = await sql('SELECT id FROM outbox UNION ALL SELECT id FROM outbox_acts LIMIT 1')
  const [lanes] = await sql<{ busy: number }>(
    `SELECT count(*) AS busy FROM cursors WHERE CASE WHEN holder IS NULL
       THEN is_open AND (wake_at <= $1 OR wake_at > '-infinity' AND rested_at > $1)
       ELSE NOT (is_open AND hold_until > $1 AND held_at <= $1) END`,
    [now],
  )
  return unnumbered.length === 0 && lanes!.busy === 0
}

/**
 * What became of each entry that a webhook wanted, derived from the tables without any code of the gateway's.
 */
const selectDeliveries = `
  WITH wanted AS (
    SELECT l.*, $1::bigint AS owner, 0 AS round FROM log l
    CROSS JOIN LATERAL (SELECT kinds, actions FROM filters WHERE part = $2 AND webhook_id = $1
      AND from_seq <= l.seq ORDER BY from_seq DESC LIMIT 1) f
    WHERE l.part = $2 AND l.feed = $3
      AND CASE WHEN l.webhook_id IS NULL THEN l.simulated OR wants_event(f.kinds, f.actions, l.kind, l.action)
      ELSE l.webhook_id = $1 END),
  every AS (
    SELECT seq, round, owner, entity, uid FROM wanted
    UNION SELECT r.seq, r.round, $1, wanted.entity, wanted.uid FROM (
      SELECT seq, round FROM outcomes WHERE part = $2 AND webhook_id = $1 AND round > 0 UNION SELECT seq, round FROM agains
        WHERE part = $2 AND webhook_id = $1) r JOIN wanted USING (seq))
  SELECT CASE WHEN d.round = 0 THEN $1 || '-' || d.seq ELSE $1 || '-' || d.seq || '-' || d.round END AS id,
    d.owner AS webhook_id, d.seq, d.round, d.entity, d.uid,
    (SELECT count(*) FROM outcomes o WHERE o.part = $2 AND o.webhook_id = $1 AND o.seq = d.seq AND o.round = d.round
      AND o.attempt > 0)::int AS attempts,
    CASE WHEN d.round > 0 THEN g.due_at WHEN x.seq = d.seq THEN x.due_at END AS due_at,
    coalesce((SELECT o.state FROM outcomes o WHERE o.part = $2 AND o.webhook_id = $1 AND o.seq = d.seq AND o.round = d.round
      AND o.state <> 'retrying'),
      CASE WHEN g.seq IS NULL THEN (SELECT p.state FROM passes p WHERE p.part = $2 AND p.webhook_id = $1 AND p.upto >= d.seq
        ORDER BY p.upto LIMIT 1) END,
      CASE WHEN d.round = 0 AND x.seq < d.seq THEN 'blocked' ELSE 'waiting' END) AS state
  FROM every d LEFT JOIN exceptions x ON x.part = $2 AND x.webhook_id = $1 AND x.entity = d.entity
    LEFT JOIN agains g ON g.part = $2 AND g.webhook_id = $1 AND g.seq = d.seq AND g.round = d.round
  ORDER BY d.seq, d.round`

async function readDeliveries(sql: Engine['sql'], webhookId: number): Promise<DeliveryRow[]> {
  const [place] = await sql<{ part: number; feed: number }>(
    'SELECT part_of(branch_id) AS part, feed_of(branch_id, environment) AS feed FROM webhooks WHERE id = $1',
    [webhookId],
  )
  return sql<DeliveryRow>(selectDeliveries, [webhookId, place!.part, place!.feed])
}

export function eventOf(branchId: number, draft: EventDraft): NewEvent {
  const { entity = 'transaction:1', action = 'SUBMITTED', kind = 'TRANSACTION' } = draft
  const body = draft.body ?? JSON.stringify({ entity, action })
  return {
    environment: 'live',
    branchId: draft.branchId ?? branchId,
    kind,
    action,
    entity,
    body,
    simulated: false,
  }
}

/**
 * Deliveries that have ended, each with its event, as a busy day leaves them: the webhook has come past them.
 */
export async function fillWithSettled(
  { db, branchId, house }: Pick<Engine, 'db' | 'branchId' | 'house'>,
  webhook: Pick<Webhook, 'id'>,
  {
    prefix,
    count,
    state,
    at = house.clock.now(),
  }: { prefix: string; count: number; state: string; at?: Date },
): Promise<void> {
  const [part, feed] = [partOf(branchId), feedOf({ branchId, environment: 'live' })]
  const day = dayOf(at)
  await ask(db, 'SELECT open_day($1)', [day])
  const outcome = state === 'canceled' ? null : state === 'delivered' ? 'accepted' : 'refused'
  await db.transaction(async (sql) => {
    const [last] = await ask<{ head: number }>(sql, 'SELECT feed_head($1::smallint, $2::int) AS head', [
      ...[part, feed],
    ])
    const head = last!.head
    await ask(
      sql,
      `INSERT INTO log (part, feed, seq, day, simulated, created_at, uid, kind, action, entity, body)
       SELECT $1::smallint, $2::int, $3::bigint + n, $4::int, false, $5::timestamptz, gen_random_uuid(),
         'TRANSACTION', 'SUBMITTED', $6::text || ':' || n, '{}' FROM generate_series(1, $7::int) n`,
      [part, feed, head, day, at, prefix, count],
    )
    await ask(
      sql,
      'INSERT INTO feed_days (part, feed, first, day) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
      [part, feed, head + 1, day],
    )
    await ask(
      sql,
      `INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state,
         outcome)
       SELECT $1::smallint, $2::bigint, $3::bigint + n, 0, 1, $4::int, $5::timestamptz, 5,
         CASE $6 WHEN 'delivered' THEN 200 ELSE 500 END, $6::text, $7::text
         FROM generate_series(1, $8::int) n`,
      [part, webhook.id, head, day, at, state, outcome, count],
    )
    await ask(
      sql,
      `UPDATE cursors SET position = $3, epoch = epoch + 1, wake_at = '-infinity'
        WHERE part = $1 AND feed = $2`,
      [part, feed, head + count],
    )
  })
}

/** Drafts of events of different entities. */
export function entities(count: number, prefix = 'transaction'): EventDraft[] {
  return Array.from({ length: count }, (_, index) => ({ entity: `${prefix}:${index}` }))
}

export interface WorkerProcess {
  /** As a power cut would: at once, without a word. */
  kill(): Promise<void>
}

/**
 * `countersign serve` in a process of its own. Whenever it ends by itself it is started again: a database
 * that answers late, on a busy machine, is away for it.
 */
export function startWorkerProcess(settings: NodeJS.ProcessEnv): WorkerProcess {
  const start = () =>
    spawn(process.execPath, ['src/cli/main.ts', 'serve'], {
      env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...settings, ROLES: 'worker', PORT: '0' },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  let child = start()
  let isOver = false
  const startAgain = () => {
    if (isOver) return
    child = start().once('exit', startAgain)
  }
  child.once('exit', startAgain)
  return {
    async kill() {
      isOver = true
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

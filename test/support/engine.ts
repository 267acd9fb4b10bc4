/** The delivery engine in a whole gateway, with a partner's receiver on loopback, and what tests of it need to see. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { readConfig } from '../../src/config.ts'
import { type Database, statement } from '../../src/database/database.ts'
import { type Gateway, openGateway } from '../../src/gateway.ts'
import type { NewEvent, PublishedEvent } from '../../src/webhooks/event.ts'
import type { Kind } from '../../src/webhooks/kind.ts'
import { createWebhook, type Webhook } from '../../src/webhooks/webhook.ts'
import type { SettingsChange } from '../../src/webhooks/webhook-settings.ts'
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
  readonly id: number
  readonly webhook_id: number
  readonly event_id: number
  readonly state: string
  readonly entity: string
  readonly attempts: number
  readonly due_at: Date
  readonly repeats: number | null
  readonly uid: string
}

export interface AttemptRow {
  readonly number: number
  readonly at: Date
  readonly duration_ms: number
  readonly outcome: string
  readonly status: number | null
  readonly why: string | null
  readonly response: string | null
}

export interface LaneRow {
  readonly attention_at: Date | null
  readonly claim_id: string | null
  readonly failures: number
  readonly evidence: number
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
  lane(webhook: Webhook): Promise<LaneRow>
  /** A call of the interface as the partner's client. */
  call(method: SentRequest['method'], path: string, body?: object): Promise<Answer>
  /** Nothing in the inbox, no lane in anybody's hands, none that wants somebody. Before the clock is moved: leases count its time. */
  idle(withinMs?: number): Promise<void>
  /** Moves the clock to the moment at which some lane wants attention, and as far beyond as is said; answers how far that moment was. Only when idle. */
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
    db.query<Row>(statement('', text), values)
  const wake = async () => {
    await sql(`SELECT pg_notify('countersign_work', 'delivery')`)
  }
  const openNode = async (extra: NodeJS.ProcessEnv = {}) => {
    const node = await openGateway(readConfig({ ...house.settings, ...extra }), { clock: house.clock, ...nodeOptions })
    nodes.push(node)
    return node
  }
  for (let process = 1; process < processes; process++) await openNode()

  return {
    ...{ house, receiver, db, branchId, client, sql },
    makeWebhook(target, { kinds, branchId: branch = branchId, ...settings } = {}) {
      const url = target.startsWith('/') ? receiver.url(target) : target
      const owner = { branchId: branch, environment: 'live' as const }
      const draft = { ...settings, url, kinds, secret: branch === branchId ? undefined : 'a secret of its own' }
      return createWebhook({ db, vault, policy: guard }, owner, undefined, draft, house.act())
    },
    publish: async (...drafts) => {
      const events = drafts.map((draft) => eventOf(branchId, draft))
      return [...(await house.gateway.context.publisher.publish(events, house.clock.now()))]
    },
    deliveries: (webhook) =>
      sql<DeliveryRow>(
        'SELECT d.*, e.uid FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.webhook_id = $1 ORDER BY d.id',
        [webhook.id],
      ),
    attempts: (webhook) =>
      sql<AttemptRow>(
        'SELECT a.* FROM attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE d.webhook_id = $1 ORDER BY a.at, a.delivery_id, a.number',
        [webhook.id],
      ),
    async lane(webhook) {
      return (await sql<LaneRow>('SELECT * FROM lanes WHERE webhook_id = $1', [webhook.id]))[0]!
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
      const [row] = await sql<{ at: Date | null }>('SELECT min(attention_at) AS at FROM lanes WHERE claim_id IS NULL')
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

async function isIdle(sql: Engine['sql'], now: Date): Promise<boolean> {
  const [row] = await sql<{ busy: boolean }>(
    `SELECT EXISTS (SELECT FROM inbox_reads r JOIN inbox i ON i.part = r.part
         AND (i.xid >= pg_snapshot_xmax(r.read) OR i.xid = ANY (ARRAY(SELECT pg_snapshot_xip(r.read))))
       WHERE r.number = (SELECT max(number) FROM inbox_reads o WHERE o.part = r.part))
     OR EXISTS (SELECT FROM lanes WHERE claim_id IS NOT NULL OR attention_at <= $1) AS busy`,
    [now],
  )
  return !row!.busy
}

export function eventOf(branchId: number, draft: EventDraft): NewEvent {
  const { entity = 'transaction:1', action = 'SUBMITTED', kind = 'TRANSACTION' } = draft
  const body = draft.body ?? JSON.stringify({ entity, action })
  return { environment: 'live', branchId: draft.branchId ?? branchId, kind, action, entity, body, simulated: false }
}

/** Deliveries that have ended, each with its event, as a busy day leaves them. */
export async function fillWithSettled(
  { sql, branchId, house }: Pick<Engine, 'sql' | 'branchId' | 'house'>,
  webhook: Pick<Webhook, 'id'>,
  { prefix, count, state, at = house.clock.now() }: { prefix: string; count: number; state: string; at?: Date },
): Promise<void> {
  await sql('SELECT open_day(day_of($1))', [at])
  await sql(
    `WITH stored AS (
       INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
       SELECT d.event_offset + nextval('event_numbers'), 'live', $1, 'TRANSACTION', 'SUBMITTED', $3 || ':' || n, '{}', $2
       FROM generate_series(1, $4) n, days d WHERE d.day = day_of($2) RETURNING id, entity)
     INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at)
     SELECT d.delivery_offset + nextval('delivery_numbers'), $5, stored.id, stored.entity, $6, 1, $2, $2
     FROM stored, days d WHERE d.day = day_of($2) ORDER BY stored.id`,
    [branchId, at, prefix, count, webhook.id, state],
  )
}

/** Drafts of events of different entities. */
export function entities(count: number, prefix = 'transaction'): EventDraft[] {
  return Array.from({ length: count }, (_, index) => ({ entity: `${prefix}:${index}` }))
}

export interface WorkerProcess {
  /** As a power cut would: at once, without a word. */
  kill(): Promise<void>
}

/** `countersign serve` in a process of its own. Whenever it ends by itself it is started again: a database that answers late, on a busy machine, is away for it. */
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

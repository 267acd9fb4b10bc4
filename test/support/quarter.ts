/**
 * Three months in the life of two partners, in seconds: the clock is moved, everything else is real. What happens next is chosen by
 * chance; every step ends at rest, is written into a ledger, and old days leave. The ledger is what the promises are held against.
 */
import type { ServerResponse } from 'node:http'
import { after, day, hour, minute, second } from '../../src/clock.ts'
import { getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { openDeletedClearing, openInboxClearing } from '../../src/webhooks/clearing.ts'
import { openDaysAhead } from '../../src/webhooks/days.ts'
import { askForRedelivery, getDelivery } from '../../src/webhooks/delivery.ts'
import { dispatchPart } from '../../src/webhooks/dispatch.ts'
import type { Kind } from '../../src/webhooks/kind.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { advanceReplay, startReplay } from '../../src/webhooks/replay.ts'
import { retireOnce } from '../../src/webhooks/retention.ts'
import { deleteWebhook, getWebhook, setWebhookState, updateWebhook, type Webhook } from '../../src/webhooks/webhook.ts'
import { type Chance, openChance } from './chance.ts'
import { openWire, type Wire } from './cut-wire.ts'
import { type Engine, openEngine } from './engine.ts'
import { eventually } from './eventually.ts'
import { gate, type Received } from './receiver.ts'

export const policy = { attemptDays: 7, eventDays: 20 }
const leaseMs = 12 * second
const manners = ['well', 'well', 'well', 'fails', 'busy', 'resets', 'gone', 'refuses one entity'] as const
type Manner = (typeof manners)[number]

export interface Hook {
  readonly place: number
  webhook: Webhook
  manner: Manner
  isDeleted: boolean
}

export interface LedgerEvent {
  readonly id: number
  readonly uid: string
  readonly branchId: number
  readonly entity: string
  /** Among all that were published. */
  readonly place: number
  /** The webhooks that wanted it. */
  readonly wantedBy: readonly number[]
}

export interface LedgerDelivery {
  readonly id: number
  readonly webhook_id: number
  readonly event_id: number
  readonly state: string
  readonly attempts: number
  readonly repeats: number | null
}

export class Quarter {
  readonly engine: Engine
  readonly chance: Chance
  readonly branches: readonly number[]
  readonly hooks: Hook[] = []
  readonly events = new Map<number, LedgerEvent>()
  readonly deliveries = new Map<number, LedgerDelivery>()
  /** By branch and number, the event. */
  readonly log = new Map<string, number>()
  /** Webhook and event, where the receiver said that it has it. */
  readonly accepted = new Set<string>()
  readonly problems: string[] = []
  /** What was done, to be read when something went wrong. */
  readonly story: string[] = []
  /** Of every worker; the last is at work. */
  readonly #wires: Wire[] = []
  readonly #clearing
  readonly #inbox

  constructor(engine: Engine, branches: readonly number[], seed: number) {
    this.engine = engine
    this.branches = branches
    this.chance = openChance(seed)
    this.#clearing = openDeletedClearing(engine.db, engine.house.clock)
    this.#inbox = openInboxClearing(engine.db)
  }

  async live(days: number): Promise<void> {
    const { clock } = this.engine.house
    const end = clock.now().getTime() + days * day
    await this.#takeOver()
    for (const branch of this.branches) for (let n = 0; n < 3; n++) await this.#addHook(branch)
    while (clock.now().getTime() < end) {
      for (let acts = 1 + this.chance.below(4); acts > 0; acts--) await this.#act()
      await this.#rest()
      await this.#passTime()
    }
    await this.#mendAll()
  }

  async close(): Promise<void> {
    await this.engine.close()
    for (const wire of this.#wires) await wire.close()
  }

  get #now(): Date {
    return this.engine.house.clock.now()
  }

  async #act(): Promise<void> {
    const acts = {
      publish: () => this.#publish(1 + this.chance.below(10)),
      'publish much': () => this.#publish(40),
      behave: () => this.#behave(),
      pause: () => this.#setState('paused'),
      resume: () => this.#setState('active'),
      edit: () => this.#edit(),
      replace: () => this.#replace(),
      suspend: () => this.#setPartner('suspended'),
      approve: () => this.#setPartner('approved'),
      redeliver: () => this.#redeliver(),
      replay: () => this.#replay(),
      crash: () => this.#crash(),
    }
    const often = [
      'publish',
      'publish',
      'publish',
      'publish',
      'behave',
      'resume',
      'approve',
      'redeliver',
      'replay',
    ] as const
    const seldom = Object.keys(acts) as (keyof typeof acts)[]
    const act = this.chance.isTrue(0.7) ? this.chance.pick(often) : this.chance.pick(seldom)
    this.story.push(`${this.#now.toISOString()} ${act}`)
    await acts[act]()
  }

  async #publish(count: number, branchId = this.chance.pick(this.branches)): Promise<void> {
    const drafts = Array.from({ length: count }, () => ({
      branchId,
      entity: `transaction:${this.chance.below(6)}`,
      kind: this.chance.pick<Kind>(['TRANSACTION', 'APPLICATION']),
    }))
    const published = await this.engine.publish(...drafts)
    await this.#dispatch(branchId)
    await eventually('a number for each event', () => this.#areNumbered(published.map(({ id }) => id)))
    for (const [index, { id, uid }] of published.entries()) {
      const { entity, kind } = drafts[index]!
      const wanting = this.#living(branchId).filter(({ webhook }) => webhook.kinds.includes(kind))
      const wantedBy = wanting.map(({ webhook }) => webhook.id)
      this.events.set(id, { id, uid, branchId, entity, place: this.events.size + 1, wantedBy })
    }
  }

  async #areNumbered(ids: readonly number[]): Promise<boolean> {
    const text = 'SELECT count(*) FROM branch_log WHERE event_id = ANY ($1::bigint[])'
    const [row] = await this.engine.sql<{ count: number }>(text, [ids])
    return row!.count === ids.length
  }

  #dispatch(branchId: number): Promise<void> {
    return dispatchPart(this.engine.house.gateway.context.dispatch, partOf(branchId))
  }

  #living(branchId?: number): Hook[] {
    return this.hooks.filter((hook) => !hook.isDeleted && (branchId ?? hook.webhook.branchId) === hook.webhook.branchId)
  }

  #pathsOf({ place }: Pick<Hook, 'place'>): string[] {
    return [`/hook-${place}`, `/hook-${place}/moved`]
  }

  async #addHook(branchId: number): Promise<void> {
    const place = this.hooks.length
    const webhook = await this.engine.makeWebhook(this.#pathsOf({ place })[0]!, { branchId })
    const hook: Hook = { place, webhook, manner: 'well', isDeleted: false }
    this.hooks.push(hook)
    for (const path of this.#pathsOf(hook))
      this.engine.receiver.on(path, (request, response) => this.#answer(hook, request, response))
  }

  #answer({ manner, webhook }: Hook, request: Received, response: ServerResponse): void {
    const { entity } = JSON.parse(request.body) as { entity: string }
    if (manner === 'resets') response.socket?.resetAndDestroy()
    else if (manner === 'busy') response.writeHead(429, { 'retry-after': '30' }).end()
    else if (manner === 'gone') response.writeHead(410).end()
    else if (manner === 'fails' || (manner !== 'well' && entity.endsWith(':0'))) response.writeHead(500).end()
    else {
      this.accepted.add(`${webhook.id} ${request.id}`)
      response.end()
    }
  }

  #behave(): void {
    const hook = this.chance.pick(this.#living())
    hook.manner = this.chance.pick(manners)
    this.story.push(`  hook ${hook.place}: ${hook.manner}`)
  }

  async #setState(state: 'active' | 'paused'): Promise<void> {
    const hook = this.chance.pick(this.#living())
    hook.webhook = await setWebhookState(this.engine.db, hook.webhook, state, this.engine.house.act())
  }

  async #edit(): Promise<void> {
    const { db, vault, guard } = this.engine.house.gateway.context
    const hook = this.chance.pick(this.#living())
    const url = this.engine.receiver.url(this.chance.pick(this.#pathsOf(hook)))
    const kinds = this.chance.pick<readonly Kind[]>([['TRANSACTION'], ['APPLICATION'], ['TRANSACTION', 'APPLICATION']])
    hook.webhook = await updateWebhook(
      { db, vault, policy: guard },
      hook.webhook,
      { url, kinds },
      this.engine.house.act(),
    )
  }

  async #replace(): Promise<void> {
    const hook = this.chance.pick(this.#living())
    await deleteWebhook(this.engine.db, hook.webhook, this.engine.house.act())
    hook.isDeleted = true
    await this.#addHook(hook.webhook.branchId)
  }

  async #setPartner(status: 'approved' | 'suspended', branchId = this.chance.pick(this.branches)): Promise<void> {
    const partner = await getPartner(this.engine.db, String(branchId))
    if (partner.status !== status)
      await setPartnerStatus(this.engine.db, partner, status, 'a quarter', this.engine.house.act())
  }

  async #redeliver(): Promise<void> {
    const { db, sql } = this.engine
    const rows = await sql<{ id: number; branch_id: number }>(
      `SELECT d.id, w.branch_id FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id AND w.state <> 'deleted'
       JOIN events e ON e.id = d.event_id WHERE d.state <> 'blocked' ORDER BY d.id`,
    )
    if (rows.length === 0) return
    const { id, branch_id: branchId } = this.chance.pick(rows)
    const found = await getDelivery(db, { branchId, environment: 'live' }, id)
    await askForRedelivery(db, branchId, found, this.engine.house.act())
    await this.#dispatch(branchId)
  }

  async #replay(): Promise<void> {
    const { webhook } = this.chance.pick(this.#living())
    const from = after(this.#now, -this.chance.below(30) * day).getTime()
    const selection = this.chance.pick([{ from }, { failed: true }, { from, entity: 'transaction:1' }])
    await startReplay(this.engine.db, webhook, selection, this.engine.house.act())
  }

  /** The worker vanishes with deliveries in its hands, if there is anything to send, and another takes its place. */
  async #crash(): Promise<void> {
    const hook = this.chance.pick(this.#living())
    const held = gate((request, response) => this.#answer(hook, request, response))
    for (const path of this.#pathsOf(hook)) this.engine.receiver.on(path, held.behaviour)
    await this.#publish(10, hook.webhook.branchId)
    const underWay = () => this.#pathsOf(hook).some((path) => this.engine.receiver.underWay(path) > 0)
    const isIdle = () =>
      this.engine.idle(0).then(
        () => true,
        () => false,
      )
    await eventually('a delivery under way, or none to send', async () => underWay() || (await isIdle()))
    this.story.push(underWay() ? '  with deliveries under way' : '  with nothing to do')
    // It goes on by itself, as far as it can without a database, until everything is closed.
    this.#wires.at(-1)!.cut()
    await this.#takeOver()
    this.engine.house.clock.advance(leaseMs + second)
    held.open()
  }

  async #takeOver(): Promise<void> {
    const wire = await openWire(this.engine.house.settings.DATABASE_URL!)
    this.#wires.push(wire)
    await this.engine.openNode({ ROLES: 'worker', DATABASE_URL: wire.url })
  }

  /** Everything that can be done now is done; then the books are kept, and what is old leaves. */
  async #rest(): Promise<void> {
    const { db, sql } = this.engine
    for (let before = -1; before !== (await this.#countWork()); ) {
      before = await this.#countWork()
      while ((await advanceReplay(db, this.#now)) > 0);
      for (const branch of this.branches) await this.#dispatch(branch)
      await sql(`SELECT pg_notify('countersign_work', 'delivery')`)
      await this.engine.idle()
    }
    while ((await this.#clearing.clearOnce()) > 0);
    await this.#inbox.clearAll()
    await this.#keepBooks()
    await openDaysAhead(db, this.#now)
    await retireOnce(db, policy, this.#now)
    await this.#keepBooks()
    await this.#refresh()
  }

  async #countWork(): Promise<number> {
    const [row] = await this.engine.sql<{ work: number }>(
      `SELECT (SELECT count(*) FROM replays WHERE state = 'running') * 1000000 + (SELECT last_value FROM delivery_numbers) AS work`,
    )
    return row!.work
  }

  /** What has ended stays as it ended, until its day leaves. */
  async #keepBooks(): Promise<void> {
    const { sql } = this.engine
    for (const row of await sql<LedgerDelivery>(
      'SELECT id, webhook_id, event_id, state, attempts, repeats FROM deliveries',
    )) {
      const known = this.deliveries.get(row.id)
      const hasEnded = known && !['waiting', 'blocked'].includes(known.state)
      if (hasEnded && known.state !== row.state)
        this.problems.push(`delivery ${row.id} was ${known.state}, is ${row.state}`)
      this.deliveries.set(row.id, row)
    }
    const logged = await sql<{ key: string; event_id: number }>(
      `SELECT branch_id || ':' || sequence AS key, event_id FROM branch_log`,
    )
    for (const { key, event_id } of logged) {
      if ((this.log.get(key) ?? event_id) !== event_id) this.problems.push(`${key} of the log was given twice`)
      this.log.set(key, event_id)
    }
  }

  /** A webhook whose receiver said 410 has been disabled. */
  async #refresh(): Promise<void> {
    for (const hook of this.#living()) {
      const owner = { branchId: hook.webhook.branchId, environment: 'live' } as const
      hook.webhook = await getWebhook(this.engine.db, owner, hook.webhook.id)
    }
  }

  async #passTime(): Promise<void> {
    if (this.chance.isTrue(0.25)) {
      await this.engine.advanceToNextLook()
      return
    }
    const unit = this.chance.pick([minute, hour, 2 * day, 5 * day, 9 * day])
    this.engine.house.clock.advance(Math.round(unit * (0.5 + this.chance.next())))
  }

  /** Everybody is well, and whatever waits goes out. */
  async #mendAll(): Promise<void> {
    // Before anything is sent again: a 410 would disable what has just been made active.
    for (const hook of this.hooks) hook.manner = 'well'
    await this.#rest()
    for (const branch of this.branches) await this.#setPartner('approved', branch)
    for (const hook of this.#living())
      hook.webhook = await setWebhookState(this.engine.db, hook.webhook, 'active', this.engine.house.act())
    for (let looks = 0; looks < 40; looks++) {
      await this.#rest()
      const waiting = await this.engine.sql('SELECT FROM queued_deliveries LIMIT 1')
      if (waiting.length === 0) return
      await this.engine.advanceToNextLook()
    }
    this.problems.push(`something waits for ever: ${JSON.stringify(await this.#findWaiting())}`)
  }

  /** The lanes of what waits, as they are. */
  #findWaiting(): Promise<object[]> {
    return this.engine.sql(
      `SELECT l.*, w.state, p.status, count(*) AS waiting, min(q.due_at) AS due, $1::timestamptz AS now FROM queued_deliveries q
       JOIN lanes l USING (webhook_id) JOIN webhooks w ON w.id = l.webhook_id JOIN partners p USING (branch_id)
       GROUP BY l.webhook_id, w.id, p.branch_id`,
      [this.#now],
    )
  }
}

export async function openQuarter(seed: number): Promise<Quarter> {
  const { attemptDays, eventDays } = policy
  const engine = await openEngine({
    ROLES: 'api',
    ATTEMPT_RETENTION_DAYS: String(attemptDays),
    EVENT_RETENTION_DAYS: String(eventDays),
  })
  const other = await engine.house.makePartner()
  return new Quarter(engine, [engine.branchId, other.branchId], seed)
}

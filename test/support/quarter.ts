/**
 * Three months in the life of two partners, in seconds: the clock is moved, everything else is real. What
 * happens next is chosen by chance; every step ends at rest, is written into a ledger, and old days leave.
 * The ledger is what the promises are held against.
 */
import { after, day, hour, minute, second } from '../../src/clock.ts'
import { getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { Conflict, NotFound } from '../../src/problem.ts'
import { getDelivery, redeliver } from '../../src/webhooks/deliveries/delivery.ts'
import { startRecovery } from '../../src/webhooks/deliveries/recovery.ts'
import { cancelReplay, listReplays, startReplay } from '../../src/webhooks/deliveries/replay.ts'
import { retireOnce } from '../../src/webhooks/deliveries/retention.ts'
import { skipDelivery, startSkip } from '../../src/webhooks/deliveries/skip.ts'
import { dayOf, openDaysAhead } from '../../src/webhooks/events/days.ts'
import type { Kind } from '../../src/webhooks/events/kind.ts'
import { partOf } from '../../src/webhooks/events/part.ts'
import {
  deleteWebhook,
  getWebhook,
  setWebhookState,
  updateWebhook,
} from '../../src/webhooks/subscriptions/webhook.ts'
import { type Chance, openChance } from './chance.ts'
import { openWire, type Wire } from './cut-wire.ts'
import { type Engine, openEngine } from './engine.ts'
import { eventually } from './eventually.ts'
import { Books } from './quarter-books.ts'
import { manners, pathsOf, Receivers } from './quarter-receivers.ts'
import { gate } from './receiver.ts'

export const policy = { attemptDays: 7, eventDays: 20 }
/** Whoever is gone for longer is taken for gone. */
/** Longer than anything takes that is under way. */
const looksBeforeDue = 500
const absenceMs = 12 * second
const looksAtMost = 200

export class Quarter {
  readonly engine: Engine
  readonly chance: Chance
  readonly branches: readonly number[]
  readonly books: Books
  readonly receivers: Receivers
  /** What was done, to be read when something went wrong. */
  readonly story: string[] = []
  /** Of every worker; the last is at work. */
  readonly #wires: Wire[] = []

  constructor(engine: Engine, branches: readonly number[], seed: number) {
    this.engine = engine
    this.branches = branches
    this.chance = openChance(seed)
    this.books = new Books(engine)
    this.receivers = new Receivers(engine)
  }

  async live(days: number): Promise<void> {
    const { clock } = this.engine.house
    const end = clock.now().getTime() + days * day
    await this.#takeOver()
    for (const branch of this.branches) for (let n = 0; n < 3; n++) await this.receivers.add(branch)
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
      skip: () => this.#skip(),
      'skip to now': () => this.#skipToNow(),
      replay: () => this.#replay(),
      'cancel a replay': () => this.#cancelReplay(),
      recover: () => this.#recover(),
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
    // By the worker, or by somebody else.
    if (this.chance.isTrue(0.5)) await this.engine.house.gateway.context.numbering.number(partOf(branchId))
    await eventually('a number for each event', () => this.books.areNumbered(published.map(({ uid }) => uid)))
    for (const [index, { uid }] of published.entries()) {
      const { entity, kind } = drafts[index]!
      const wanting = this.receivers.living(branchId).filter(({ webhook }) => webhook.kinds.includes(kind))
      const wantedBy = wanting.map(({ webhook }) => webhook.id)
      this.books.enter({ uid, branchId, entity, wantedBy })
    }
  }

  #behave(): void {
    const hook = this.chance.pick(this.receivers.living())
    hook.manner = this.chance.pick(manners)
    this.story.push(`  hook ${hook.place}: ${hook.manner}`)
  }

  async #setState(state: 'active' | 'paused'): Promise<void> {
    const hook = this.chance.pick(this.receivers.living())
    hook.webhook = await setWebhookState(this.engine.db, hook.webhook, state, this.engine.house.act())
  }

  async #edit(): Promise<void> {
    const { db, vault, guard } = this.engine.house.gateway.context
    const hook = this.chance.pick(this.receivers.living())
    const url = this.engine.receiver.url(this.chance.pick(pathsOf(hook)))
    const kinds = this.chance.pick<readonly Kind[]>([
      ['TRANSACTION'],
      ['APPLICATION'],
      ['TRANSACTION', 'APPLICATION'],
    ])
    hook.webhook = await updateWebhook(
      { db, vault, policy: guard },
      hook.webhook,
      { url, kinds },
      this.engine.house.act(),
    )
  }

  async #replace(): Promise<void> {
    const hook = this.chance.pick(this.receivers.living())
    // Its deliveries go with it.
    await this.books.keep([hook])
    await deleteWebhook(this.engine.db, hook.webhook, this.engine.house.act())
    hook.isDeleted = true
    await this.receivers.add(hook.webhook.branchId)
  }

  async #setPartner(
    status: 'approved' | 'suspended',
    branchId = this.chance.pick(this.branches),
  ): Promise<void> {
    const partner = await getPartner(this.engine.db, String(branchId))
    if (partner.status !== status)
      await setPartnerStatus(this.engine.db, partner, status, 'a quarter', this.engine.house.act())
  }

  /** One that waits or has ended; undefined where there is none. */
  async #pickDelivery() {
    const { webhook } = this.chance.pick(this.receivers.living())
    const rows = (await this.engine.deliveries(webhook)).filter(({ state }) => state !== 'blocked')
    return rows.length > 0 ? { webhook, row: this.chance.pick(rows) } : undefined
  }

  async #redeliver(): Promise<void> {
    const picked = await this.#pickDelivery()
    if (!picked) return
    const { db, house } = this.engine
    const { branchId, environment } = picked.webhook
    await ifPossible(async () =>
      redeliver(db, branchId, await getDelivery(db, { branchId, environment }, picked.row.id), house.act()),
    )
  }

  async #skip(): Promise<void> {
    const picked = await this.#pickDelivery()
    if (!picked) return
    const { db, house } = this.engine
    const { branchId, environment } = picked.webhook
    const found = await getDelivery(db, { branchId, environment }, picked.row.id)
    if (await skipDelivery(db, branchId, found, 'not wanted', house.act())) this.books.skipped.add(found.id)
  }

  async #skipToNow(): Promise<void> {
    const { webhook } = this.chance.pick(this.receivers.living())
    await startSkip(this.engine.db, webhook, 'too late', this.engine.house.act())
    const ended = (await this.engine.deliveries(webhook)).filter(({ state }) => state === 'canceled')
    for (const { id } of ended) this.books.skipped.add(id)
  }

  async #replay(): Promise<void> {
    const { webhook } = this.chance.pick(this.receivers.living())
    const from = after(this.#now, -this.chance.below(30) * day).getTime()
    const selection = this.chance.pick([{ from }, { failed: true }, { from, entity: 'transaction:1' }])
    await ifPossible(() => startReplay(this.engine.db, webhook, selection, this.engine.house.act()))
  }

  async #cancelReplay(): Promise<void> {
    const { db, house } = this.engine
    for (const { webhook } of this.receivers.living())
      for (const { id, state } of await listReplays(db, webhook))
        if (state === 'running') await db.transaction((sql) => cancelReplay(sql, webhook, id, house.act()))
  }

  async #recover(): Promise<void> {
    const hook = this.chance.pick(this.receivers.living())
    await this.#refresh()
    const since = after(this.#now, -this.chance.below(10) * day)
    await ifPossible(() => startRecovery(this.engine.db, hook.webhook, since, this.engine.house.act()))
  }

  /**
   * The worker vanishes with deliveries in its hands, if there is anything to send, and another takes its
   * place.
   */
  async #crash(): Promise<void> {
    const hook = this.chance.pick(this.receivers.living())
    const held = gate((request, response) => this.receivers.answer(hook, request, response))
    for (const path of pathsOf(hook)) this.engine.receiver.on(path, held.behaviour)
    await this.#publish(10, hook.webhook.branchId)
    const isUnderWay = () => this.receivers.isUnderWay(hook)
    await eventually(
      'a delivery under way, or none to send',
      async () => isUnderWay() || (await this.#isStill()),
    )
    this.story.push(isUnderWay() ? '  with deliveries under way' : '  with nothing to do')
    // It goes on by itself, as far as it can without a database, until everything is closed.
    this.#wires.at(-1)!.cut()
    await this.#takeOver()
    this.engine.house.clock.advance(absenceMs + second)
    held.open()
  }

  async #takeOver(): Promise<void> {
    const wire = await openWire(this.engine.house.settings.DATABASE_URL!)
    this.#wires.push(wire)
    await this.engine.openNode({ ROLES: 'worker', DATABASE_URL: wire.url })
  }

  /** Everything that can be done now is done; then the books are kept, and what is old leaves. */
  async #rest(): Promise<void> {
    await this.#stand()
    const { hooks } = this.receivers
    await this.books.keep(hooks)
    await openDaysAhead(this.engine.db, this.#now)
    await eventually('what is old leaves', () => this.#retire())
    await this.books.keep(hooks)
    await this.#stand()
    await this.#refresh()
  }

  async #stand(): Promise<void> {
    await this.engine.wake()
    let looks = 0
    await eventually('a moment at which nothing is to be done', async () => {
      // A lane does not rest for what is due within milliseconds, and this clock stands still.
      if (++looks % looksBeforeDue === 0) this.engine.house.clock.advance(second)
      return this.#isStill()
    })
  }

  /**
   * Nobody has anything to do before the clock is moved: every lane sleeps, is shut, or is held for a
   * receiver that wants to be left alone.
   */
  async #isStill(): Promise<boolean> {
    // In this order: what has left the outbox has woken its lanes.
    const [outbox] = await this.engine.sql<{ busy: boolean }>(
      'SELECT EXISTS (SELECT FROM outbox) OR EXISTS (SELECT FROM outbox_acts) AS busy',
    )
    const busy = await this.engine.sql(
      `SELECT webhook_id FROM cursors WHERE CASE WHEN holder IS NULL
         THEN is_open AND (wake_at <= $1 OR wake_at > '-infinity' AND rested_at > $1)
         ELSE NOT (is_open AND hold_until > $1 AND held_at <= $1) END LIMIT 1`,
      [this.#now],
    )
    const isQuiet = !outbox!.busy && busy.length === 0
    return isQuiet && !this.receivers.hooks.some((hook) => this.receivers.isUnderWay(hook))
  }

  /** A day that somebody reads just now stays for a while. */
  async #retire(): Promise<boolean> {
    await retireOnce(this.engine.db, policy, this.#now)
    const text = 'SELECT FROM days WHERE day < $1'
    return (await this.engine.sql(text, [dayOf(after(this.#now, -policy.eventDays * day))])).length === 0
  }

  /** A webhook whose receiver said 410 has been disabled. */
  async #refresh(): Promise<void> {
    for (const hook of this.receivers.living()) {
      const owner = { branchId: hook.webhook.branchId, environment: 'live' } as const
      hook.webhook = await getWebhook(this.engine.db, owner, hook.webhook.id)
    }
  }

  async #passTime(): Promise<void> {
    if (this.chance.isTrue(0.25)) {
      await this.#advance()
      return
    }
    const unit = this.chance.pick([minute, hour, 2 * day, 5 * day, 9 * day])
    this.engine.house.clock.advance(Math.round(unit * (0.5 + this.chance.next())))
  }

  /** To the moment at which somebody has something to do. */
  async #advance(): Promise<void> {
    const [row] = await this.engine.sql<{ at: Date | null }>(
      `SELECT min(at) FILTER (WHERE isfinite(at)) AS at FROM (SELECT CASE WHEN holder IS NULL
        THEN wake_at ELSE hold_until END AS at FROM cursors WHERE is_open) looks`,
    )
    this.engine.house.clock.advance(row!.at ? Math.max(0, row!.at.getTime() - this.#now.getTime()) : 0)
  }

  /** Everybody is well, and whatever waits goes out. */
  async #mendAll(): Promise<void> {
    // Before anything is sent again: a 410 would disable what has just been made active.
    for (const hook of this.receivers.hooks) hook.manner = 'well'
    await this.#rest()
    for (const branch of this.branches) await this.#setPartner('approved', branch)
    for (const hook of this.receivers.living())
      hook.webhook = await setWebhookState(this.engine.db, hook.webhook, 'active', this.engine.house.act())
    for (let looks = 0; looks < looksAtMost; looks++) {
      await this.#rest()
      if (!(await this.books.isAnythingWaiting())) return this.#endBusy()
      await this.#advance()
    }
    this.books.problems.push(
      `something waits for ever: ${JSON.stringify(await this.books.findWaiting(this.#now))}`,
    )
  }

  /** However quiet the last days were: something has just arrived. */
  async #endBusy(): Promise<void> {
    for (const branch of this.branches) await this.#publish(10, branch)
    await this.#rest()
  }
}

/** The gateway says why it cannot be done just now. */
async function ifPossible(work: () => Promise<unknown>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!(error instanceof Conflict || error instanceof NotFound)) throw error
  })
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

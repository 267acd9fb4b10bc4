/**
 * Three months in the life of two partners, in seconds: the clock is moved, everything else is real. What happens next is chosen by
 * chance; every step ends at rest, is written into a ledger, and old days leave. The ledger is what the promises are held against.
 */
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
import { deleteWebhook, getWebhook, setWebhookState, updateWebhook } from '../../src/webhooks/webhook.ts'
import { type Chance, openChance } from './chance.ts'
import { openWire, type Wire } from './cut-wire.ts'
import { type Engine, openEngine } from './engine.ts'
import { eventually } from './eventually.ts'
import { Books } from './quarter-books.ts'
import { manners, pathsOf, Receivers } from './quarter-receivers.ts'
import { gate } from './receiver.ts'

export const policy = { attemptDays: 7, eventDays: 20 }
const leaseMs = 12 * second

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
  readonly #clearing
  readonly #inbox

  constructor(engine: Engine, branches: readonly number[], seed: number) {
    this.engine = engine
    this.branches = branches
    this.chance = openChance(seed)
    this.books = new Books(engine)
    this.receivers = new Receivers(engine)
    this.#clearing = openDeletedClearing(engine.db, engine.house.clock)
    this.#inbox = openInboxClearing(engine.db)
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
    await eventually('a number for each event', () => this.books.areNumbered(published.map(({ id }) => id)))
    for (const [index, { id, uid }] of published.entries()) {
      const { entity, kind } = drafts[index]!
      const wanting = this.receivers.living(branchId).filter(({ webhook }) => webhook.kinds.includes(kind))
      const wantedBy = wanting.map(({ webhook }) => webhook.id)
      this.books.enter({ id, uid, branchId, entity, wantedBy })
    }
  }

  #dispatch(branchId: number): Promise<void> {
    return dispatchPart(this.engine.house.gateway.context.dispatch, partOf(branchId))
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
    const kinds = this.chance.pick<readonly Kind[]>([['TRANSACTION'], ['APPLICATION'], ['TRANSACTION', 'APPLICATION']])
    hook.webhook = await updateWebhook(
      { db, vault, policy: guard },
      hook.webhook,
      { url, kinds },
      this.engine.house.act(),
    )
  }

  async #replace(): Promise<void> {
    const hook = this.chance.pick(this.receivers.living())
    await deleteWebhook(this.engine.db, hook.webhook, this.engine.house.act())
    hook.isDeleted = true
    await this.receivers.add(hook.webhook.branchId)
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
    const { webhook } = this.chance.pick(this.receivers.living())
    const from = after(this.#now, -this.chance.below(30) * day).getTime()
    const selection = this.chance.pick([{ from }, { failed: true }, { from, entity: 'transaction:1' }])
    await startReplay(this.engine.db, webhook, selection, this.engine.house.act())
  }

  /** The worker vanishes with deliveries in its hands, if there is anything to send, and another takes its place. */
  async #crash(): Promise<void> {
    const hook = this.chance.pick(this.receivers.living())
    const held = gate((request, response) => this.receivers.answer(hook, request, response))
    for (const path of pathsOf(hook)) this.engine.receiver.on(path, held.behaviour)
    await this.#publish(10, hook.webhook.branchId)
    const isUnderWay = () => this.receivers.isUnderWay(hook)
    const isIdle = () =>
      this.engine.idle(0).then(
        () => true,
        () => false,
      )
    await eventually('a delivery under way, or none to send', async () => isUnderWay() || (await isIdle()))
    this.story.push(isUnderWay() ? '  with deliveries under way' : '  with nothing to do')
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
    for (let before = -1; before !== (await this.books.countWork()); ) {
      before = await this.books.countWork()
      while ((await advanceReplay(db, this.#now)) > 0);
      for (const branch of this.branches) await this.#dispatch(branch)
      await sql(`SELECT pg_notify('countersign_work', 'delivery')`)
      await this.engine.idle()
    }
    while ((await this.#clearing.clearOnce()) > 0);
    await this.#inbox.clearAll()
    await this.books.keep()
    await openDaysAhead(db, this.#now)
    await retireOnce(db, policy, this.#now)
    await this.books.keep()
    await this.#refresh()
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
      await this.engine.advanceToNextLook()
      return
    }
    const unit = this.chance.pick([minute, hour, 2 * day, 5 * day, 9 * day])
    this.engine.house.clock.advance(Math.round(unit * (0.5 + this.chance.next())))
  }

  /** Everybody is well, and whatever waits goes out. */
  async #mendAll(): Promise<void> {
    // Before anything is sent again: a 410 would disable what has just been made active.
    for (const hook of this.receivers.hooks) hook.manner = 'well'
    await this.#rest()
    for (const branch of this.branches) await this.#setPartner('approved', branch)
    for (const hook of this.receivers.living())
      hook.webhook = await setWebhookState(this.engine.db, hook.webhook, 'active', this.engine.house.act())
    for (let looks = 0; looks < 40; looks++) {
      await this.#rest()
      if (!(await this.books.isAnythingQueued())) return
      await this.engine.advanceToNextLook()
    }
    this.books.problems.push(`something waits for ever: ${JSON.stringify(await this.books.findWaiting(this.#now))}`)
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

/** One partner with one webhook, whose deliveries are at every stage at once; and what can happen to them in the same moment. */
import assert from 'node:assert/strict'
import { day } from '../../src/clock.ts'
import { type Database, statement } from '../../src/database/database.ts'
import { applyAsPartner, decide, getPartner, type Partner } from '../../src/partners/partner.ts'
import { type InboxClearing, openDeletedClearing, openInboxClearing } from '../../src/webhooks/clearing.ts'
import { type Days, dayOf, openDays } from '../../src/webhooks/days.ts'
import { type Dispatched, dispatchOnce } from '../../src/webhooks/dispatch.ts'
import { insertEvents, type NewEvent } from '../../src/webhooks/event.ts'
import { HeldLanes } from '../../src/webhooks/held-lanes.ts'
import { type Broken, findBroken, printBroken, recentScope, wholeScope } from '../../src/webhooks/invariants.ts'
import type { DueDelivery, Lane } from '../../src/webhooks/lane.ts'
import { partOf, writeToPart } from '../../src/webhooks/part.ts'
import { openPublisher } from '../../src/webhooks/publisher.ts'
import { advanceReplay } from '../../src/webhooks/replay.ts'
import { retireOnce } from '../../src/webhooks/retention.ts'
import { openShortCut } from '../../src/webhooks/short-cut.ts'
import { setWebhookState, type Webhook } from '../../src/webhooks/webhook.ts'
import { usualSettings, valuesOf } from '../../src/webhooks/webhook-settings.ts'
import { insertWebhook } from '../../src/webhooks/webhooks.sql.ts'
import { freeLanes } from '../../src/webhooks/workers.sql.ts'
import { TestClock } from './clock.ts'
import { eventOf } from './engine.ts'
import { operatorAct } from './gateway.ts'
import * as hand from './hand-worker.ts'
import { openPatiently } from './patiently.ts'

/** What one run is about. */
export interface Situation {
  readonly webhook: Webhook
  readonly lane: Lane
  /** In the lane's hand: the first of three of one entity, of which the second waits behind it and the third is not dispatched yet; and of two of another. */
  readonly due: readonly DueDelivery[]
  /** The number of one that has ended: it can be sent again. */
  readonly ended: number
  /** When that was published. */
  readonly endedAt: Date
}

export interface SituationOptions {
  /** So many days between the first and the second. */
  readonly daysBetween?: number
  /** One that has ended in this very moment. */
  readonly isFresh?: boolean
  /** Nobody asks what became of events that the webhook may not have wanted. */
  readonly isChanged?: boolean
}

export const retention = { attemptDays: 1, eventDays: 1 }
const wanted = ['TRANSACTION']
const roundsAtMost = 30
/** What a run leaves behind is less. */
const rowsAtMost = 20

export class InterleavedHouse {
  readonly db: Database
  readonly clock = new TestClock()
  readonly days: Days
  readonly partner: Partner
  readonly part: number
  #webhook: Webhook | undefined
  #ended = 0
  #endedAt = new Date(0)
  readonly #inbox: InboxClearing
  #isChanged = false
  #isFresh = false
  #hasLeft = false
  #sent: DueDelivery[] = []
  readonly #inTurn = new Set<number>()

  static async open(url: string): Promise<InterleavedHouse> {
    const db = openPatiently({ connectionString: url, connections: 3 })
    // What is lost with the power is of no interest here.
    await db.script(
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$",
    )
    const clock = new TestClock()
    const { branchId } = await applyAsPartner(db, 'Partner', operatorAct(clock.now()))
    return new InterleavedHouse(db, await getPartner(db, String(branchId)))
  }

  private constructor(db: Database, partner: Partner) {
    this.db = db
    this.days = openDays(db)
    this.#inbox = openInboxClearing(db)
    this.partner = partner
    this.part = partOf(partner.branchId)
  }

  async arrange({ daysBetween = 0, isChanged = false, isFresh = false }: SituationOptions = {}): Promise<Situation> {
    this.#sent = []
    this.#isChanged = isChanged
    this.#isFresh = isFresh
    await this.#settleDown()
    if (daysBetween > 0) await this.#leaveBehind(daysBetween)
    this.#webhook ??= await this.#makeWebhook()
    const webhook = this.#webhook
    if (this.#ended === 0 || isFresh) await this.#deliverOne()
    await this.#publish('1', '2')
    if (daysBetween > 0) await this.#dispatchAll()
    if (daysBetween > 0) await this.#inbox.clearAll()
    this.clock.advance(daysBetween * day)
    await this.#publish('1')
    await this.#dispatchAll()
    const [lane] = await hand.claim(this)
    const due = await hand.readDue(this, lane!)
    assert.equal(due.length, 2)
    this.#sent.push(...due)
    await this.#publish('1', '2')
    return { webhook, lane: lane!, due, ended: this.#ended, endedAt: this.#endedAt }
  }

  /** What an order before has asked for and was not waited for. */
  async #settleDown(): Promise<void> {
    await this.#sql(`UPDATE replays SET state = 'canceled', finished_at = $1 WHERE state = 'running'`, [
      this.clock.now(),
    ])
    await this.#dispatchAll()
    await hand.serveAll(this)
  }

  async #dispatchAll(): Promise<void> {
    const desk = { ...this, traceDispatch: undefined, told: () => {}, readParts: new Set<number>() }
    while ((await dispatchOnce(desk, this.part, 100, writeToPart))?.entries !== 0);
  }

  publish(db: Database): Promise<unknown> {
    return db.transaction((sql) => insertEvents(sql, this.#eventsOf(['1', '2']), this.clock.now()))
  }

  /** By a node that has its worker beside it, which lets its lanes go at once. */
  async publishAtOnce(db: Database): Promise<void> {
    const number = await hand.numberOf(db)
    const nothing = () => {}
    const lanes = new HeldLanes({
      lingerMs: 200,
      db,
      clock: this.clock,
      number: () => number,
      lastNumber: () => number,
      confirmed: nothing,
      complain: nothing,
    })
    const shortCut = openShortCut({
      ...{
        clock: this.clock,
        days: this.days,
        lanes,
        traceDispatch: undefined,
        isOpen: () => true,
        number: () => number,
        changes: () => 0,
      },
      ...{ keep: nothing, send: nothing, hurry: nothing, dispatched: nothing, look: nothing },
    })
    await openPublisher(db, { published: nothing, shortCut }).publish(this.#eventsOf(['1', '2']), this.clock.now())
    lanes.stop()
    await lanes.close()
  }

  loseWorkers(): Promise<unknown> {
    return this.#sql('DELETE FROM workers')
  }

  /** One after the other. */
  async #publish(...entities: string[]): Promise<void> {
    const published = await insertEvents(this.db, this.#eventsOf(entities), this.clock.now())
    for (const { id } of published) this.#inTurn.add(id)
  }

  #eventsOf(entities: readonly string[]): NewEvent[] {
    return entities.map((entity) => eventOf(this.partner.branchId, { entity: `transaction:${entity}` }))
  }

  dispatch(db: Database): Promise<Dispatched | undefined> {
    return dispatchOnce(
      { ...this, db, traceDispatch: undefined, told: () => {}, readParts: new Set<number>() },
      this.part,
      100,
    )
  }

  /** The lane's hand is empty then, and nothing of it waits. */
  async deliverAll(lane: Lane, due: readonly DueDelivery[]): Promise<void> {
    for (let next = due; next.length > 0; next = await hand.readDue(this, lane)) {
      await hand.settle(this, lane, next, hand.accepted)
      this.noteSent(next)
    }
  }

  /** Whoever holds the lane does not know of it. */
  endLease(webhook: Webhook): Promise<unknown> {
    return this.#sql('UPDATE lanes SET attention_at = $2 WHERE webhook_id = $1', [webhook.id, this.clock.now()])
  }

  noteSent(sent: readonly DueDelivery[]): void {
    this.#sent.push(...sent)
  }

  /** Nothing is broken, and once everybody is let, everything is sent, in order, and nothing stays. */
  async check(): Promise<void> {
    await this.#ask('right after')
    if (await this.#letEverybody()) await this.#ask('when everybody may go on')
    await this.#finish()
    await this.#ask('in the end')
    await this.#checkOrder()
  }

  /** One that failed is not to make others fail. */
  async startAfresh(): Promise<void> {
    await this.db.script(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%';
      TRUNCATE queued_deliveries; TRUNCATE inbox; TRUNCATE branch_log; TRUNCATE branch_days; TRUNCATE events CASCADE;
      UPDATE webhooks SET state = 'deleted', cleared_at = now(); UPDATE replays SET state = 'canceled', finished_at = now() WHERE state = 'running';
      UPDATE lanes SET claim_id = NULL, held_by = NULL, attention_at = NULL, has_news = false`)
    this.#webhook = undefined
  }

  /** Of all that has happened. */
  async checkLog(): Promise<void> {
    await this.#inbox.clearAll()
    const { fromDay } = recentScope(this.clock.now())
    const broken = await findBroken(this.db, this.clock.now(), { ...wholeScope(fromDay), parts: [this.part] })
    assert.deepEqual(broken.map(printBroken), [])
  }

  findBroken(): Promise<Broken[]> {
    const scope = { ...recentScope(this.clock.now()), parts: [this.part], rowsAtMost }
    return findBroken(this.db, this.clock.now(), scope)
  }

  async #ask(when: string): Promise<void> {
    const broken = await this.findBroken()
    assert.deepEqual(broken.map(printBroken), [], when)
  }

  /** Answers whether anybody was not. */
  async #letEverybody(): Promise<boolean> {
    const now = this.clock.now()
    const [found] = await this.#sql<Webhook & { status: string }>(
      'SELECT w.*, p.status FROM webhooks w JOIN partners p USING (branch_id) WHERE w.id = $1',
      [this.#webhook!.id],
    )
    const { id, state, status } = found!
    if (status !== 'approved') await decide(this.db, this.partner, { status: 'approved' }, operatorAct(now))
    if (state === 'deleted') this.#webhook = undefined
    else if (state !== 'active') await setWebhookState(this.db, found!, 'active', operatorAct(now))
    if (this.#isChanged) await this.#sql('UPDATE webhooks SET kinds = $2 WHERE id = $1', [id, wanted])
    return status !== 'approved' || state !== 'active'
  }

  async #finish(): Promise<void> {
    // Whoever holds anything is gone.
    await this.loseWorkers()
    await this.db.query(freeLanes, [this.clock.now()])
    for (let round = 0; round < roundsAtMost; round++) {
      const deleted = openDeletedClearing(this.db, this.clock)
      while ((await deleted.clearOnce()) > 0);
      while (this.#isFresh && (await advanceReplay(this.db, this.clock.now())) > 0);
      await this.#dispatchAll()
      this.#sent.push(...(await hand.serveAll(this)))
      const [left] = await this.#sql<{ count: number; at: Date | null; replays: number }>(
        `SELECT count(*), (SELECT min(attention_at) FROM lanes) AS at,
           (SELECT count(*) FROM replays WHERE state = 'running') AS replays FROM queued_deliveries`,
      )
      if (left!.count === 0 && (left!.replays === 0 || !this.#isFresh)) return
      if (left!.count === 0) continue
      assert.ok(left!.at, `${left!.count} deliveries wait, and nobody is to look at them`)
      this.clock.advance(Math.max(0, left!.at.getTime() - this.clock.now().getTime()))
    }
    assert.fail('deliveries wait for ever')
  }

  /** Of an entity, what was published in turn first arrives in turn; what is sent again keeps to itself. */
  async #checkOrder(): Promise<void> {
    const rows = await this.#sql<{ id: number }>(
      'SELECT id FROM settled_deliveries WHERE id = ANY ($1::bigint[]) AND repeats IS NULL',
      [this.#sent.map(({ id }) => id)],
    )
    const firsts = new Set(rows.map(({ id }) => id))
    for (const [entity, sent] of Map.groupBy(this.#sent, (delivery) => delivery.entity)) {
      const arrived = sent.filter(({ id, eventId }) => firsts.has(id) && this.#inTurn.has(eventId))
      const events = [...new Set(arrived.map(({ eventId }) => eventId))]
      const inOrder = events.toSorted((a, b) => a - b)
      assert.deepEqual(events, inOrder, `events of ${entity} arrived in their order`)
    }
  }

  /** What is old has left, whatever stood in its way last time: each time the same days are there. */
  async #leaveBehind(days: number): Promise<void> {
    await this.days.open(dayOf(this.clock.now()))
    if (!this.#hasLeft) this.clock.advance(days * day)
    this.#hasLeft = true
    await this.#inbox.clearAll()
    await retireOnce(this.db, retention, this.clock.now())
  }

  async #deliverOne(): Promise<void> {
    this.#endedAt = this.clock.now()
    await this.#publish('1')
    await this.#dispatchAll()
    const [sent] = await hand.serveAll(this)
    this.#ended = sent!.id
  }

  async #makeWebhook(): Promise<Webhook> {
    this.#ended = 0
    await decide(this.db, this.partner, { status: 'approved' }, operatorAct(this.clock.now()))
    const chosen = [wanted, this.clock.now(), ...valuesOf(usualSettings)]
    const values = [this.partner.branchId, 'live', null, 'https://partner.example.com/', ...chosen]
    return (await this.db.query<Webhook>(insertWebhook, values))[0]!
  }

  #sql<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.db.query<Row>(statement('', text), values)
  }
}

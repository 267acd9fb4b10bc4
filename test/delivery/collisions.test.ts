/** Two that want the same rows at the same moment: nothing is lost and nobody is left behind. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { dispatchLocked, dispatchOnce } from '../../src/webhooks/dispatch.ts'
import { printEventId } from '../../src/webhooks/event.ts'
import { openLane } from '../../src/webhooks/lane.ts'
import { partOf, tryWritingToPart } from '../../src/webhooks/part.ts'
import { openSettlements } from '../../src/webhooks/settlement.ts'
import { deleteWebhook } from '../../src/webhooks/webhook.ts'
import { transaction } from '../support/branch.ts'
import { fillWithSettled, openEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'

const engine = await keepOpen(openEngine({ ROLES: 'api' }))
const { db, sql } = engine
const { dispatch } = engine.house.gateway.context
const part = partOf(engine.branchId)

/** A door that is opened from outside. */
function makeDoor() {
  let open: () => void = () => {}
  const passed = new Promise<void>((resolve) => (open = resolve))
  return { open, passed }
}

async function countWaitingBackends(): Promise<number> {
  const [row] = await sql<{ count: number }>(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event_type = 'Lock'`)
  return Number(row!.count)
}

test('settling and creating deliveries of one part take turns: whoever comes second waits, and sees what the first has done', async () => {
  const webhook = await engine.makeWebhook('/a')
  await engine.publish({ entity: 'transaction:1' })
  await dispatchOnce(dispatch, part, 100)
  const [first] = await engine.deliveries(webhook)
  const claimId = randomUUID()
  const now = engine.house.clock.now()
  await sql('UPDATE lanes SET claim_id = $2, attention_at = $3 WHERE webhook_id = $1', [webhook.id, claimId, now])
  const lane = openLane({
    ...{ webhookId: webhook.id, branchId: engine.branchId, part, claimId, leasedUntilMs: Number.POSITIVE_INFINITY },
    ...{ failures: 0, failingSince: undefined, evidence: 0, dueFrom: now, limitedUntil: undefined },
  })
  await engine.publish({ entity: 'transaction:1', action: 'APPROVED' })
  const door = makeDoor()
  const created = makeDoor()
  const dispatching = tryWritingToPart(db, part, async (on) => {
    await dispatchLocked(dispatch, on, part, 100)
    created.open()
    await door.passed
  })
  await created.passed
  const event = {
    id: first!.event_id,
    uid: first!.uid,
    publishedAt: now,
    traceparent: null,
    simulated: false,
    body: '',
  }
  const { id, entity, attempts, webhook_id: webhookId, event_id: eventId, due_at: dueAt } = first!
  const delivery = {
    id,
    webhookId,
    eventId,
    entity,
    attempts,
    dueAt,
    branchId: engine.branchId,
    url: '',
    repeats: null,
    event,
  }
  const outcome = { kind: 'accepted', status: 200, response: '' } as const
  const settled = openSettlements(dispatch).settle({
    ...{ lane, delivery, outcome, at: now, durationMs: 1, now, disable: undefined },
  })
  await eventually('the settlement waits for the dispatch', async () => (await countWaitingBackends()) > 0)
  door.open()
  await dispatching
  assert.equal((await settled).accepted, true)
  assert.deepEqual(
    (await engine.deliveries(webhook)).map((each) => each.state),
    ['delivered', 'waiting'],
  )
})

test('a webhook that is deleted while its deliveries are being created keeps none that waits, and nobody waits for it', async () => {
  const webhook = await engine.makeWebhook('/b')
  await engine.publish({ entity: 'transaction:9' })
  const door = makeDoor()
  const created = makeDoor()
  const dispatching = tryWritingToPart(db, part, async (on) => {
    await dispatchLocked(dispatch, on, part, 100)
    created.open()
    await door.passed
  })
  await created.passed
  const deleting = deleteWebhook(db, webhook, engine.house.act())
  await eventually('the deletion waits for the lane', async () => (await countWaitingBackends()) > 0)
  door.open()
  await Promise.all([dispatching, deleting])
  await eventually('what is left is cleared away', async () =>
    (await engine.deliveries(webhook)).every((delivery) => delivery.state === 'canceled'),
  )
  assert.equal((await engine.deliveries(webhook)).length, 1)
})

interface Fired {
  readonly eventId: string
  readonly deliveries: readonly { readonly state: string }[]
}

test('a test hook that was published is answered 202 with its event, whatever fails behind it, and is delivered later', async () => {
  const webhook = await engine.makeWebhook('/d')
  await db.script(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a disk is full' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON queued_deliveries FOR EACH ROW EXECUTE FUNCTION fail();`)
  const answer = await engine.call('POST', '/v2/webhooks/transaction', transaction())
  await db.script('DROP TRIGGER fail ON queued_deliveries; DROP FUNCTION fail;')
  assert.equal(answer.status, 202, answer.text)
  const { eventId, deliveries } = answer.json<Fired>()
  assert.match(eventId, /^evt_[0-9a-f]{32}$/)
  assert.deepEqual(deliveries, [])
  await dispatchOnce(dispatch, part, 100)
  const made = await engine.deliveries(webhook)
  assert.deepEqual(
    made.map(({ uid }) => printEventId(uid)),
    [eventId],
  )
})

test('a redelivery that was set going is answered 202, although its webhook is gone when it is looked at again', async () => {
  const webhook = await engine.makeWebhook('/e')
  const now = engine.house.clock.now()
  await fillWithSettled(engine, webhook, { prefix: 'transaction', count: 1, state: 'exhausted', at: now })
  const [delivery] = await engine.deliveries(webhook)
  await db.script(`
    CREATE FUNCTION vanish() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      UPDATE webhooks SET state = 'deleted' WHERE id = NEW.webhook_id; RETURN NULL; END $$;
    CREATE TRIGGER vanish AFTER INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION vanish();`)
  const answer = await engine.call('POST', `/v2/deliveries/${delivery!.id}/redeliver`)
  await db.script('DROP TRIGGER vanish ON inbox; DROP FUNCTION vanish;')
  assert.equal(answer.status, 202, answer.text)
  assert.equal(answer.json<{ id: number }>().id, delivery!.id)
})

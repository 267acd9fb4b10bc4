/**
 * What no sequence of commits can show: two transactions of which one holds its locks while the other comes.
 * Each answers nothing, or fails.
 */

import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database, Sql } from '../../src/database/database.ts'
import { poolOf } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { lookHolding } from '../support/look-inside.ts'
import { closeStage, type House, kindNames, openStage, printKinds, type Stage } from './stage.ts'

const lookAgainMs = 2

interface RaceResult<Result> {
  /** Whether the second waited for the first. */
  readonly waited: boolean
  readonly result: Result
}

const isBlocked = 'SELECT cardinality(pg_blocking_pids($1)) > 0 AS "isBlocked"'
const backend = 'SELECT pg_backend_pid() AS pid'

class Rollback extends Error {}

/** Runs until it is over or waits for somebody's lock; answers which, and how to wait for its end. */
async function untilStill<Result>(db: Database, work: (sql: Sql) => Promise<Result>) {
  const began = Promise.withResolvers<number>()
  let isOver = false
  const done = db.transaction(async (sql) => {
    began.resolve((await ask<{ pid: number }>(sql, backend))[0]!.pid)
    return work(sql)
  })
  const end = () => {
    isOver = true
  }
  done.then(end, end)
  const pid = await began.promise
  while (!isOver) {
    const [row] = await ask<{ isBlocked: boolean }>(db, isBlocked, [pid])
    if (row!.isBlocked && !isOver) return { waited: true, done }
    await wait(lookAgainMs)
  }
  return { waited: false, done }
}

/**
 * What `meanwhile` does, it does while the first is done and not committed; then the first commits, or is
 * undone.
 */
async function during<Result>(
  db: Database,
  first: (sql: Sql) => Promise<unknown>,
  meanwhile: () => Promise<Result>,
  undo = false,
): Promise<Result> {
  const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = db
    .transaction(async (sql) => {
      await first(sql)
      held.resolve()
      await over.promise
      if (undo) throw new Rollback()
    })
    .catch((error: unknown) => {
      if (!(error instanceof Rollback)) throw error
    })
  await Promise.race([held.promise, holding])
  try {
    return await meanwhile()
  } finally {
    over.resolve()
    await holding
  }
}

async function meet<Result>(
  db: Database,
  first: (sql: Sql) => Promise<unknown>,
  second: (sql: Sql) => Promise<Result>,
  undo = false,
): Promise<RaceResult<Result>> {
  const { waited, done } = await during(db, first, () => untilStill(db, second), undo)
  return { waited, result: await done }
}

/**
 * Both come while somebody has the first lane; whoever has not begun with that one would have the other by
 * then.
 */
async function inACircle(
  db: Database,
  p: number,
  id: number,
  one: (sql: Sql) => Promise<unknown>,
  other: (sql: Sql) => Promise<unknown>,
): Promise<void> {
  const lock = 'SELECT FROM cursors WHERE part = $1 AND webhook_id = $2 FOR UPDATE'
  const both = await during(
    db,
    (sql) => ask(sql, lock, [p, id]),
    async () => [await untilStill(db, one), await untilStill(db, other)],
  )
  await Promise.all(both.map(({ done }) => done))
}

/** The last that were opened: nobody else is to take them. */
const opened = new WeakMap<House, Stage>()
async function closeLanes(house: House): Promise<void> {
  const stage = opened.get(house)
  if (stage) await closeStage(stage)
}

/** A branch with lanes that node 1 holds or nobody, and the functions on them. */
async function openLanes(house: House, webhooks: number) {
  // The floor of the outbox stays where it is: who raises it would wait for another look by itself.
  await house.db.script("UPDATE outbox_floors SET every = '1000 years', raised_at = now()")
  await closeLanes(house)
  const stage = await openStage(house, {
    ...{ name: 'lanes', about: '', txs: [], nodes: 2, slots: 1, unsettled: 1, bound: 1, tries: 2, left: {} },
    webhooks: Array<string>(webhooks).fill('x'),
  })
  opened.set(house, stage)
  const { webhooks: ids, feeds } = stage
  const p = stage.parts[0]!
  const now = stage.at(0)
  const db = poolOf(house.db, p)
  const call =
    <Row extends object>(name: string, values: object) =>
    (sql: Sql) =>
      stage.call<Row>(name, { p, now, ...values }, sql)
  const cursors = () =>
    ask<Cursor>(
      db,
      `SELECT webhook_id AS id, position, epoch, holder, isfinite(wake_at) AS "hasTime",
          wake_at = 'infinity' AS "isAsleep" FROM cursors
         WHERE part = $1 AND webhook_id = ANY ($2::bigint[]) ORDER BY webhook_id`,
      [p, ids],
    )
  return {
    ...{ stage, ids, p, now, db, cursors },
    publish: (entity: string, kind = 'x') =>
      ask(
        house.db,
        `INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
            VALUES ($1, $2, $3, $5, 'CREATED', $4, '')`,
        [p, feeds[0], now, entity, kindNames[kind]],
      ),
    look: async (sql: Sql) => {
      const { entries, woken } = await lookHolding(house.db, sql, p, now)
      return entries.map(({ seq, day }) => ({ seq, day, woken }))
    },
    take: (worker: number) => call<{ webhook_id: number }>('take', { worker, most: 10, except_ids: [] }),
    rest: (id: number, epoch: number, read: number) =>
      call('rest', { lw: [id], lepoch: [epoch], lread: [read], lwake: ['infinity'] }),
    giveBack: (id: number, epoch: number) => call('give_back', { lw: [id], lepoch: [epoch] }),
    free: call('free_lanes', { workers: [1] }),
    skip: (id: number, seq: number, day: number) =>
      call<{ skip_one: boolean }>('skip_one', {
        w: id,
        s: seq,
        of_day: day,
        of_entity: 'A',
        why: 'a reason',
        by_whom: 'somebody',
      }),
    skipToNow: (id: number) =>
      call<{ skip_to_now: number }>('skip_to_now', { w: id, why: 'a reason', by_whom: 'somebody' }),
    pause: (...webhooks: number[]) => call('open_cursors', { webhooks, open: false }),
    filter: (id: number) => call('filter_cursor', { w: id, wanted: printKinds('y'), wanted_actions: {} }),
    create: (id: number) =>
      call('create_cursor', {
        w: id,
        f: feeds[0],
        open: true,
        wanted: printKinds('x'),
        wanted_actions: {},
        allowed: true,
        leads_to: 0,
      }),
    remove: (id: number) => call('delete_cursor', { w: id }),
    settle: (...lanes: LaneFacts[]) => call<{ webhook_id: number }>('settle', tell(stage, lanes)),
    /** The first of entity A fails, or has ended. */
    settleEntity: (lane: LaneFacts, read: number, xdue: Date | null) =>
      call<{ next: number | null }>('settle', {
        ...tell(stage, [lane]),
        ...nothingElse,
        xentity: ['A'],
        xdue: [xdue],
        lread: [read],
      }),
  }
}

interface Cursor {
  readonly id: number
  readonly position: number
  readonly epoch: number
  readonly holder: number | null
  readonly isAsleep: boolean
}
/**
 * An accepted delivery of a lane, a failed one of entity B, one that was asked for again and failed, and how
 * far its replay is.
 */
interface LaneFacts {
  readonly id: number
  readonly epoch: number
  readonly seq: number
  readonly day: number
}

function tell(stage: Stage, lanes: readonly LaneFacts[]) {
  const each = <Value>(value: Value) => lanes.map(() => value)
  const [ids, seqs, days] = [lanes.map((l) => l.id), lanes.map((l) => l.seq), lanes.map((l) => l.day)]
  const now = stage.at(0)
  return {
    ...{
      today: days[0],
      lw: ids,
      lepoch: lanes.map((l) => l.epoch),
      lposition: seqs,
      lread: seqs,
      lhold: each(null),
      lfailures: each(null),
      lsince: each(null),
    },
    ...{
      ow: ids,
      oseq: seqs,
      oround: each(0),
      oattempt: each(1),
      oday: days,
      oat: each(now),
      oms: each(1),
      ostatus: each(200),
    },
    ...{ ostate: each('delivered'), ooutcome: each('accepted'), owhy: each(null), osaid: each(1) },
    ...{ aw: ids, asaid: each(1), aresponse: each('ok'), adetail: each(null) },
    ...{ xw: ids, xentity: each('B'), xseq: seqs, xday: days, xattempts: each(1), xdue: each(now) },
    ...{
      gw: ids,
      gseq: seqs,
      ground: each(1),
      gday: days,
      gentity: each('B'),
      gattempts: each(1),
      gdue: each(now),
    },
    ...{ rw: ids, rround: each(1), rposition: seqs, rsent: each(1) },
  }
}

const nothingElse = { ow: [], aw: [], gw: [], rw: [] }

const count = async (db: Database, p: number, table: string, ids: readonly number[]) => {
  const [row] = await ask<{ n: number }>(
    db,
    `SELECT count(*)::int AS n FROM ${table} WHERE part = $1 AND webhook_id = ANY ($2::bigint[])`,
    [p, ids],
  )
  return row!.n
}

/** By name, so that a mutant can say which of them catches it. */
export const interleavings = {
  'two looks: the second waits, and finds nothing left': async (house: House) => {
    const { db, publish, look } = await openLanes(house, 1)
    await publish('A')
    const { waited, result } = await meet(db, look, look)
    assert.deepEqual([waited, result], [true, []])
  },

  'a lane that falls asleep waits for a look, and stays awake': async (house: House) => {
    const { db, ids, publish, look, take, rest, cursors } = await openLanes(house, 1)
    await take(1)(db)
    await publish('A')
    const { waited, result } = await meet(db, look, rest(ids[0]!, 1, 0))
    assert.deepEqual([waited, result, (await cursors())[0]!.isAsleep], [true, [], false])
  },

  'a look waits for a lane that falls asleep, and wakes it': async (house: House) => {
    const { db, ids, publish, look, take, rest, cursors } = await openLanes(house, 1)
    await take(1)(db)
    await publish('A')
    const { waited, result } = await meet(db, rest(ids[0]!, 1, 0), look)
    assert.deepEqual([waited, result[0]!.woken, (await cursors())[0]!.isAsleep], [true, 1, false])
  },

  'a look waits for an act on a lane that sleeps, and wakes it though the act is undone': async (
    house: House,
  ) => {
    const { db, ids, publish, look, take, rest, pause, cursors } = await openLanes(house, 1)
    await take(1)(db)
    await rest(ids[0]!, 1, 0)(db)
    await publish('A')
    const { waited, result } = await meet(db, pause(ids[0]!), look, true)
    assert.deepEqual([waited, result[0]!.woken, (await cursors())[0]!.isAsleep], [true, 1, false])
  },

  'a filter that changes waits for a look: what was numbered meanwhile is judged by the old one': async (
    house: House,
  ) => {
    const { db, p, ids, publish, look, filter } = await openLanes(house, 1)
    await publish('A')
    const { waited } = await meet(db, look, filter(ids[0]!))
    const rows = await ask(
      db,
      'SELECT from_seq AS "from" FROM filters WHERE part = $1 AND webhook_id = $2 ORDER BY from_seq',
      [p, ids[0]],
    )
    assert.deepEqual([waited, rows], [true, [{ from: 1 }, { from: 2 }]])
  },

  'a webhook that is made waits for a look, and begins behind it': async (house: House) => {
    const { db, publish, look, create, remove, p } = await openLanes(house, 1)
    await publish('A')
    const id = ++house.webhooks
    const { waited } = await meet(db, look, create(id))
    const rows = await ask(db, 'SELECT position FROM cursors WHERE part = $1 AND webhook_id = $2', [p, id])
    await remove(id)(db)
    assert.deepEqual([waited, rows], [true, [{ position: 1 }]])
  },

  'whoever skips to now waits for a look, and skips what it numbered': async (house: House) => {
    const { db, ids, publish, look, skipToNow } = await openLanes(house, 1)
    await publish('A')
    const { waited, result } = await meet(db, look, skipToNow(ids[0]!))
    assert.deepEqual([waited, result], [true, [{ skip_to_now: 1 }]])
  },

  'an act waits for a settlement, and sees what it wrote': async (house: House) => {
    const { db, ids, publish, look, take, settle, skip } = await openLanes(house, 1)
    await publish('A')
    const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
    await take(1)(db)
    const { waited, result } = await meet(
      db,
      settle({ id: ids[0]!, epoch: 1, seq, day }),
      skip(ids[0]!, seq, day),
    )
    assert.deepEqual([waited, result], [true, [{ skip_one: false }]])
  },

  'a settlement waits for an act, and writes nothing': async (house: House) => {
    const { db, p, ids, publish, look, take, settle, skip } = await openLanes(house, 1)
    await publish('A')
    const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
    await take(1)(db)
    const { waited, result } = await meet(
      db,
      skip(ids[0]!, seq, day),
      settle({ id: ids[0]!, epoch: 1, seq, day }),
    )
    assert.deepEqual([waited, result, await count(db, p, 'outcomes', ids)], [true, [], 1])
  },

  'a settlement waits for whoever takes the lane over, and writes nothing': async (house: House) => {
    const { db, p, ids, publish, look, take, free, settle } = await openLanes(house, 1)
    await publish('A')
    const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
    await take(1)(db)
    await free(db)
    const { waited, result } = await meet(db, take(2), settle({ id: ids[0]!, epoch: 1, seq, day }))
    assert.deepEqual([waited, result, await count(db, p, 'outcomes', ids)], [true, [], 0])
  },

  'nobody takes a lane over while its holder settles: afterwards what it wrote is there': async (
    house: House,
  ) => {
    const { db, ids, publish, look, take, free, settle, cursors } = await openLanes(house, 1)
    await publish('A')
    const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
    await take(1)(db)
    await free(db)
    const { waited, result } = await meet(db, settle({ id: ids[0]!, epoch: 1, seq, day }), take(2))
    assert.deepEqual([waited, result], [false, []])
    assert.deepEqual(await take(2)(db), [{ webhook_id: ids[0] }])
    const [cursor] = await cursors()
    assert.deepEqual([cursor!.position, cursor!.epoch, cursor!.holder], [1, 2, 2])
  },

  'an entity that has ended is told of twice, by a holder that was loaded while it settled: what came between waits':
    async (house: House) => {
      const { db, p, ids, now, publish, look, take, settleEntity } = await openLanes(house, 1)
      await publish('A')
      const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
      await take(1)(db)
      const lane = { id: ids[0]!, epoch: 1, seq, day }
      await settleEntity(lane, 1, now)(db)
      await settleEntity(lane, 1, null)(db)
      assert.equal(await count(db, p, 'exceptions', ids), 0)
      await publish('A')
      await look(db)
      const [told] = await settleEntity(lane, 2, null)(db)
      assert.deepEqual([told!.next, await count(db, p, 'exceptions', ids)], [2, 1])
    },

  'of two who take a lane, one has it': async (house: House) => {
    const { db, ids, take, cursors } = await openLanes(house, 1)
    const { waited, result } = await meet(db, take(1), take(2))
    const [cursor] = await cursors()
    assert.deepEqual([waited, result, cursor!.holder, cursor!.epoch], [false, [], 1, 1])
    assert.equal(cursor!.id, ids[0])
  },

  'what was passed cannot be skipped as well': async (house: House) => {
    const { db, ids, skip, skipToNow, publish, look } = await openLanes(house, 1)
    await publish('A')
    const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
    await skipToNow(ids[0]!)(db)
    assert.deepEqual(await skip(ids[0]!, seq, day)(db), [{ skip_one: false }])
  },

  'a replay reads what was wanted and has ended, up to its last; what is unfinished is sent by itself':
    async (house: House) => {
      const { db, ids, p, now, publish, look, take, settleEntity } = await openLanes(house, 1)
      for (const [entity, kind] of ['Ax', 'Bx', 'By', 'Ax', 'Cx', 'Cx']) await publish(entity!, kind)
      const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
      await take(1)(db)
      await settleEntity({ id: ids[0]!, epoch: 1, seq, day }, 6, now)(db)
      await ask(
        db,
        `INSERT INTO replay_cursors (part, webhook_id, round, position, last, created_at)
            VALUES ($1, $2, 1, 0, 5, now())`,
        [p, ids[0]],
      )
      const rows = await ask(db, 'SELECT upto, (entry).seq FROM read_replay($1::smallint, $2, 1, 0, 10)', [
        p,
        ids[0],
      ])
      assert.deepEqual(rows, [
        { upto: 2, seq: 2 },
        { upto: 5, seq: 5 },
        { upto: 5, seq: null },
      ])
    },

  'a lane whose webhook is paused is taken by nobody': async (house: House) => {
    const { db, ids, take, pause, publish, look } = await openLanes(house, 1)
    await publish('A')
    await look(db)
    await pause(ids[0]!)(db)
    assert.deepEqual(await take(1)(db), [])
  },

  'a lane that is given back waits for whoever took it over, and stays theirs': async (house: House) => {
    const { db, ids, take, free, giveBack, cursors } = await openLanes(house, 1)
    await take(1)(db)
    await free(db)
    const { waited } = await meet(db, take(2), giveBack(ids[0]!, 1))
    assert.deepEqual([waited, (await cursors())[0]!.holder], [true, 2])
  },

  'two settlements of the same lanes, named in opposite order, do not wait for each other in a circle':
    async (house: House) => {
      const { db, p, ids, publish, look, take, settle } = await openLanes(house, 2)
      await publish('A')
      const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
      await take(1)(db)
      const lanes = ids.map((id) => ({ id, epoch: 1, seq, day }))
      await inACircle(db, p, ids[0]!, settle(...lanes), settle(...lanes.toReversed()))
      assert.equal(await count(db, p, 'outcomes', ids), 2)
    },

  'two acts on the same lanes, named in opposite order, do not wait for each other in a circle': async (
    house: House,
  ) => {
    const { db, p, ids, take, pause, giveBack } = await openLanes(house, 2)
    await take(1)(db)
    await inACircle(db, p, ids[0]!, pause(...ids), pause(...ids.toReversed()))
    await giveBack(ids[0]!, 2)(db)
  },

  'of a settlement of two lanes, one of them lost, the other alone is written': async (house: House) => {
    const { db, p, ids, publish, look, take, settle, cursors } = await openLanes(house, 2)
    await publish('A')
    const [{ day, seq } = { day: 0, seq: 0 }] = await look(db)
    await take(1)(db)
    for (const id of ids)
      await ask(
        db,
        `INSERT INTO replay_cursors (part, webhook_id, round, position, last, created_at)
            VALUES ($1, $2, 1, 0, 9, now())`,
        [p, id],
      )
    const [own, lost] = ids as [number, number]
    const told = await settle({ id: own, epoch: 1, seq, day }, { id: lost, epoch: 0, seq, day })(db)
    assert.deepEqual(
      told.map((row) => row.webhook_id),
      [own],
    )
    for (const table of ['outcomes', 'answers', 'exceptions', 'agains'])
      assert.deepEqual([await count(db, p, table, [own]), await count(db, p, table, [lost])], [1, 0], table)
    const [, other] = await cursors()
    const replays = await ask(
      db,
      `SELECT position FROM replay_cursors WHERE part = $1 AND webhook_id = ANY ($2::bigint[])
        ORDER BY webhook_id`,
      [p, ids],
    )
    assert.deepEqual([other!.position, replays], [0, [{ position: 1 }, { position: 0 }]])
  },
} as const satisfies Readonly<Record<string, (house: House) => Promise<void>>>

/** Performs the steps of the model that are commits, through the kernel's functions. */

import assert from 'node:assert/strict'
import type { Sql } from '../../src/database/database.ts'
import { dayOf } from '../../src/webhooks/events/days.ts'
import { poolOf } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { lookAtSome } from '../support/look-inside.ts'
import { isEnding } from './model/lane.ts'
import { type Act, type Effect, entityOf, type Rules, type Settlement, type World } from './model/world.ts'
import { kindNames, openNextDay, printKinds, type Stage } from './stage.ts'

/** A transaction on a connection of its own, which others see when it commits. */
interface Publisher {
  run(work: (sql: Sql) => Promise<unknown>): Promise<void>
  commit(): Promise<void>
}

export interface Player {
  /** From one state of the model to the next. */
  play(effect: Effect, before: World, after: World): Promise<void>
  close(): Promise<void>
}

const insert = `INSERT INTO outbox (part, feed, created_at, kind, action, entity, body)
    VALUES ($1, $2, $3, $4, 'CREATED', $5, $6)`
const writeSomething = 'SELECT pg_current_xact_id()'

export function openPlayer(stage: Stage, rules: Rules): Player {
  const { house, scene, feeds, webhooks, partOfFeed, at } = stage
  const publishers = new Map<number, Publisher>()
  const partOf = (s: World, w: number) => partOfFeed(s.cursors[w]!.feed)

  async function publish(sql: Sql, s: World, id: number): Promise<void> {
    const { feed, entity, kind } = s.events.find((e) => e.id === id)!
    await ask(sql, insert, [partOfFeed(feed), feeds[feed], at(s.now), kindNames[kind], entity, `${id}`])
  }

  async function look(s: World, part: number): Promise<void> {
    const feed = (scene.parts ?? [0]).indexOf(part)
    const most = scene.lookAtMost ?? 9
    const { entries } = await lookAtSome(house.db, partOfFeed(feed), at(s.now), most)
    for (const row of entries) stage.days.set(`${feeds.indexOf(row.feed)} ${row.seq}`, row.day)
  }

  async function take(s: World, node: number, w: number): Promise<void> {
    const others = webhooks.filter((_, place) => place !== w)
    const taken = await stage.call('take', {
      p: partOf(s, w),
      worker: node,
      now: at(s.now),
      most: 5,
      except_ids: others,
    })
    assert.deepEqual(taken, [{ webhook_id: webhooks[w] }], 'the lane is taken')
  }

  const dayOfEntry = (s: World, w: number, seq: number) => stage.days.get(`${s.cursors[w]!.feed} ${seq}`)!

  async function settle(s: World, after: World, w: number, it: Settlement): Promise<void> {
    const hook = webhooks[w]
    const rows = await stage.call<{ webhook_id: number; entity: string | null; next: number | null }>(
      'settle',
      {
        ...{ p: partOf(s, w), now: at(s.now), today: dayOf(at(s.now)) },
        ...{
          lw: [hook],
          lepoch: [it.epoch],
          lposition: [it.pos],
          lread: [it.read],
          lhold: [null],
          lfailures: [null],
          lsince: [null],
        },
        ...outcomesOf(s, w, it),
        ...exceptionsOf(s, w, it),
        ...againsOf(s, w, it),
        ...{
          rw: it.replays.map(() => hook),
          rround: it.replays.map((r) => r.round),
          rposition: it.replays.map((r) => r.pos),
        },
        rsent: it.replays.map(({ round }) => countSent(after, w, round)),
      },
    )
    const c = s.cursors[w]!
    const isMine = c.state !== 'deleted' && c.epoch === it.epoch
    assert.deepEqual(
      rows.filter((row) => row.entity === null).map((row) => row.webhook_id),
      isMine ? [hook] : [],
      'whose lane it was',
    )
    for (const { entity, next } of rows.filter((row) => row.entity !== null))
      assert.equal(
        next,
        after.exceptions[w]!.find((x) => x.entity === entity)?.seq ?? null,
        `what comes after in ${entity}`,
      )
  }

  const countSent = (s: World, w: number, round: number) =>
    s.finals[w]!.filter((key) => key.endsWith(`-${round}`)).length +
    s.agains[w]!.filter((again) => again.round === round).length

  function outcomesOf(s: World, w: number, { results }: Settlement) {
    const state = (r: (typeof results)[0]) =>
      r.ok ? 'delivered' : isEnding(s, w, rules, r) ? 'exhausted' : 'retrying'
    const [seqs, rounds] = [results.map((r) => r.seq), results.map((r) => r.round)]
    const attempts = results.map((r) => r.attempt)
    return {
      ...{
        ow: results.map(() => webhooks[w]),
        oseq: seqs,
        oround: rounds,
        oattempt: attempts,
        oday: seqs.map((seq) => dayOfEntry(s, w, seq)),
      },
      ...{
        oat: results.map(() => at(s.now)),
        oms: results.map(() => 1),
        ostatus: results.map((r) => (r.ok ? 200 : 500)),
        ostate: results.map(state),
      },
      ...{ ooutcome: results.map((r) => (r.ok ? 'accepted' : 'refused')), owhy: results.map(() => null) },
      ...{ osaid: results.map(() => null), aw: [], asaid: [], aresponse: [], adetail: [] },
    }
  }

  const nextDue = (s: World) => at(s.now + (scene.clock ? 1 : 0))

  function exceptionsOf(s: World, w: number, { failed, ended }: Settlement) {
    const rows = [
      ...failed.map((x) => ({ ...x, due: nextDue(s) })),
      ...ended.map((x) => ({ ...x, tries: 0, due: null })),
    ]
    return {
      ...{
        xw: rows.map(() => webhooks[w]),
        xentity: rows.map((x) => x.entity),
        xseq: rows.map((x) => x.seq),
      },
      ...{
        xday: rows.map((x) => dayOfEntry(s, w, x.seq)),
        xattempts: rows.map((x) => x.tries),
        xdue: rows.map((x) => x.due),
      },
    }
  }

  function againsOf(s: World, w: number, { results, againsFailed }: Settlement) {
    const isFailed = (r: { seq: number; round: number }) =>
      againsFailed.some((x) => x.seq === r.seq && x.round === r.round)
    const ended = results
      .filter((r) => r.round > 0 && !isFailed(r))
      .map((r) => ({ seq: r.seq, round: r.round, tries: 0, due: null }))
    const rows = [...againsFailed.map((x) => ({ ...x, due: nextDue(s) })), ...ended]
    return {
      ...{ gw: rows.map(() => webhooks[w]), gseq: rows.map((x) => x.seq), ground: rows.map((x) => x.round) },
      ...{ gday: rows.map((x) => dayOfEntry(s, w, x.seq)), gentity: rows.map((x) => entityOf(s, w, x.seq)) },
      ...{ gattempts: rows.map((x) => x.tries), gdue: rows.map((x) => x.due) },
    }
  }

  async function act(s: World, after: World, it: Act): Promise<void> {
    const of = { p: partOf(s, 0), w: webhooks[0], now: at(s.now), why: 'a reason', by_whom: 'somebody' }
    const ofEntry = (seq: number) => ({
      ...of,
      s: seq,
      of_day: dayOfEntry(s, 0, seq),
      of_entity: entityOf(s, 0, seq),
    })
    const nothing = {
      of_entity: null,
      from_moment: null,
      to_moment: null,
      only_failed: false,
      since_moment: null,
    }
    if (it.kind === 'drop') return dropDays(s)
    if (it.kind === 'pause' || it.kind === 'resume')
      await stage.call('open_cursors', { ...of, webhooks: [of.w], open: it.kind === 'resume' })
    else if (it.kind === 'delete') await stage.call('delete_cursor', of)
    else if (it.kind === 'skip-to-now') await stage.call('skip_to_now', of)
    else if (it.kind === 'expire')
      await stage.call('pass_cursor', { ...of, until: it.seq, as_state: 'expired' })
    else if (it.kind === 'skip') await stage.call('skip_one', ofEntry(it.seq))
    else if (it.kind === 'again') await stage.call('send_again', ofEntry(it.seq))
    else if (it.kind === 'replay') await stage.call('start_replay', { ...of, ...nothing, from_seq: it.seq })
    else if (it.kind === 'cancel-replay')
      await stage.call('cancel_replay', { ...of, of_round: after.cursors[0]!.replays.at(-1)!.round })
    else if (it.kind === 'filter')
      await stage.call('filter_cursor', { ...of, wanted: printKinds(it.kinds), wanted_actions: {} })
  }

  /** As retention does it: what is unfinished expires, the head stays in day 0, and the partitions go. */
  async function dropDays(s: World): Promise<void> {
    const { feed } = s.cursors[0]!
    const [p, f, old] = [partOfFeed(feed), feeds[feed]!, dayOf(at(0))]
    await poolOf(house.db, p).transaction(async (sql) => {
      await ask(sql, 'SELECT FROM parts WHERE part = $1 FOR NO KEY UPDATE', [p])
      for (const w of rules.hooks.filter((each) => s.cursors[each]!.feed === feed))
        await stage.call(
          'pass_cursor',
          {
            p,
            w: webhooks[w],
            until: s.logs[feed]!.length,
            as_state: 'expired',
            why: null,
            by_whom: null,
            now: at(s.now),
          },
          sql,
        )
      const [head] = await stage.call<{ feed_head: number }>('feed_head', { p, f }, sql)
      await ask(sql, 'INSERT INTO feed_days (part, feed, first, day) VALUES ($1, $2, $3, 0)', [
        ...[p, f, head!.feed_head + 1],
      ])
      await ask(sql, 'DELETE FROM feed_days WHERE part = $1 AND feed = $2 AND day > 0', [p, f])
    })
    for (const table of ['log', 'outcomes', 'answers'])
      await ask(house.db, 'SELECT drop_day($1, $2)', [table, old])
    await ask(house.db, 'DELETE FROM days WHERE day = $1', [old])
    await openNextDay(stage)
  }

  const lanesOf = ({ webhook, lane }: { webhook: number; lane: { epoch: number; head: number } }) => ({
    ...{ lw: [webhooks[webhook]], lepoch: [lane.epoch], lread: [lane.head] },
  })

  return {
    async play(effect, before, after) {
      if (effect.do === 'publish-all')
        return house.db.transaction(async (sql) => {
          for (const event of after.events.filter((e) => e.tx === effect.tx))
            await publish(sql, after, event.id)
        })
      if (effect.do === 'begin') {
        publishers.set(effect.tx, openPublisher(stage))
        return publishers.get(effect.tx)!.run((sql) => ask(sql, writeSomething))
      }
      if (effect.do === 'publish')
        return publishers.get(effect.tx)!.run((sql) => publish(sql, after, after.events.at(-1)!.id))
      if (effect.do === 'commit') return publishers.get(effect.tx)!.commit()
      if (effect.do === 'look') return look(before, effect.part)
      if (effect.do === 'take') return take(before, effect.node, effect.webhook)
      if (effect.do === 'settle')
        return settle(before, after, effect.webhook, before.lanes[effect.node]![effect.webhook]!.settling[0]!)
      if (effect.do === 'act') return act(before, after, effect.act)
      if (effect.do === 'free') {
        for (const p of stage.parts) await stage.call('free_lanes', { p, workers: [effect.node] })
        return
      }
      const p = partOf(before, effect.webhook)
      if (effect.do === 'give-back') return void (await stage.call('give_back', { p, ...lanesOf(effect) }))
      const { wake } = after.cursors[effect.webhook]!
      const lwake = [typeof wake === 'number' ? at(wake) : 'infinity']
      const isLet = JSON.stringify(after) !== JSON.stringify(before)
      const rested = await stage.call('rest', { p, now: at(before.now), ...lanesOf(effect), lwake })
      assert.deepEqual(
        rested,
        isLet ? [{ webhook_id: webhooks[effect.webhook] }] : [],
        'whether the lane falls asleep',
      )
    },
    async close() {
      for (const publisher of publishers.values()) await publisher.commit()
    },
  }
}

function openPublisher({ house }: Stage): Publisher {
  const work: ((sql: Sql) => Promise<void>)[] = []
  let wake = () => {}
  let isOver = false
  const done = house.db.transaction(async (sql) => {
    while (!isOver || work.length > 0) {
      const next = work.shift()
      if (next) await next(sql)
      else await new Promise<void>((woken) => (wake = woken))
    }
  })
  return {
    run: (what) =>
      new Promise((resolve, reject) => {
        work.push(async (sql) => {
          try {
            await what(sql)
            resolve()
          } catch (error) {
            reject(error as Error)
          }
        })
        wake()
      }),
    async commit() {
      isOver = true
      wake()
      await done
    },
  }
}

/** Whatever can happen to a webhook's deliveries as an act, and how some of them are played beside each other in every order of their statements. */
import { after, before, describe, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { decide } from '../../src/partners/partner.ts'
import { Conflict, NotFound } from '../../src/problem.ts'
import { openDeletedClearing } from '../../src/webhooks/clearing.ts'
import { pullForward, requestRepeats } from '../../src/webhooks/deliveries.sql.ts'
import { confirmLanes } from '../../src/webhooks/lanes.sql.ts'
import { writeToPart } from '../../src/webhooks/part.ts'
import { startProbe } from '../../src/webhooks/probe.ts'
import { advanceReplay, startReplay } from '../../src/webhooks/replay.ts'
import { expire, retireOnce } from '../../src/webhooks/retention.ts'
import { deleteWebhook, setWebhookState, updateWebhook } from '../../src/webhooks/webhook.ts'
import { freeLanes } from '../../src/webhooks/workers.sql.ts'
import { openTestDatabase, type TestDatabase } from './database.ts'
import { operatorAct } from './gateway.ts'
import * as hand from './hand-worker.ts'
import { InterleavedHouse, retention, type Situation } from './interleaved-house.ts'
import { openStage, type Scene, type Stage } from './interleaving.ts'

const policy = { allowLoopback: false, ports: [443] }

interface Act {
  /** What has to be so before. */
  readonly given?: (situation: Situation, names: readonly string[]) => Promise<unknown> | undefined
  readonly run: (db: Database, situation: Situation) => Promise<unknown>
  readonly isChanging?: boolean
  readonly daysBetween?: number
  readonly isFresh?: boolean
}

function actsIn(house: InterleavedHouse): Record<string, Act> {
  const { clock, days, part, partner } = house
  const now = () => clock.now()
  const act = () => operatorAct(now())
  return {
    publish: { run: (db) => house.publish(db) },
    dispatch: { run: (db) => house.dispatch(db) },
    'dispatch again': {
      given: ({ ended }) => house.db.query(requestRepeats, [[ended], null]),
      run: (db) => house.dispatch(db),
    },
    settle: { run: (db, { lane, due }) => hand.settle({ db, clock, days }, lane, due, hand.accepted) },
    fail: { run: (db, { lane, due }) => hand.settle({ db, clock, days }, lane, due, hand.refused) },
    'let go': {
      given: ({ lane, due }) => house.deliverAll(lane, due),
      run: (db, { lane }) => hand.release({ db, clock, days }, lane),
    },
    'let go for a while': {
      given: ({ lane, due }) => hand.settle(house, lane, due, hand.refused),
      run: (db, { lane }) => hand.release({ db, clock, days }, lane),
    },
    'publish at once': { run: (db) => house.publishAtOnce(db) },
    'take a new number': {
      run: async (db, { lane }) => db.query(confirmLanes, [[lane.webhookId], [lane.claimId], await hand.numberOf(db)]),
    },
    'free what the dead have left': {
      given: () => house.loseWorkers(),
      run: (db) => db.query(freeLanes, [now()]),
    },
    claim: { given: ({ webhook }) => house.endLease(webhook), run: (db) => hand.claim({ db, clock, days }) },
    'take over': {
      given: ({ webhook }) => house.endLease(webhook),
      async run(db) {
        const [lane] = await hand.claim({ db, clock, days })
        if (!lane) return
        const due = await hand.readDue({ db, clock, days }, lane)
        house.noteSent(due)
        if (due.length > 0) await hand.settle({ db, clock, days }, lane, due, hand.accepted)
        await hand.release({ db, clock, days }, lane)
      },
    },
    redeliver: { run: (db, { ended }) => db.query(requestRepeats, [[ended], null]) },
    'pull forward': {
      run: (db, { due }) => writeToPart(db, part, (sql) => sql.query(pullForward, [due[0]!.id, now()])),
    },
    replay: {
      isFresh: true,
      given: ({ webhook, endedAt }) => startReplay(house.db, webhook, { from: endedAt.getTime() }, act()),
      run: (db) => advanceReplay(db, now()),
    },
    probe: { run: (db, { webhook }) => startProbe(db, webhook, act()) },
    pause: { run: (db, { webhook }) => setWebhookState(db, webhook, 'paused', act()) },
    resume: {
      given: ({ webhook }) => setWebhookState(house.db, webhook, 'paused', act()),
      run: (db, { webhook }) => setWebhookState(db, webhook, 'active', act()),
    },
    delete: { isChanging: true, run: (db, { webhook }) => deleteWebhook(db, webhook, act()) },
    clear: {
      isChanging: true,
      given: ({ webhook }, names) => (names.includes('delete') ? undefined : deleteWebhook(house.db, webhook, act())),
      run: (db) => openDeletedClearing(db, clock).clearOnce(),
    },
    suspend: { run: (db) => decide(db, partner, { status: 'suspended' }, act()) },
    approve: {
      given: () => decide(house.db, partner, { status: 'suspended' }, act()),
      run: (db) => decide(db, partner, { status: 'approved' }, act()),
    },
    edit: {
      isChanging: true,
      run: (db, { webhook }) =>
        updateWebhook({ db, vault: undefined!, policy }, webhook, { kinds: ['APPLICATION'] }, act()),
    },
    expire: { run: (db, { due }) => expire(db, part, [due[0]!.id], clock) },
    retire: { daysBetween: 3, isFresh: true, run: (db) => retireOnce(db, retention, now()) },
  }
}

/** Refusals that a caller is told of. */
function answers(error: unknown): void {
  if (!(error instanceof NotFound || error instanceof Conflict)) throw error
}

export const everything =
  `publish, dispatch, dispatch again, settle, fail, let go, let go for a while, publish at once, take a new number, free what the dead have left, claim, take over, redeliver,
  pull forward, replay, probe, pause, resume, delete, clear, suspend, approve, edit, expire, retire`.split(/,\s+/)

/**
 * No order of the statements of any of these scenes, each some acts by their names, breaks a promise of the engine. So many troupes play at the same time,
 * each with a database of its own.
 */
export function play(title: string, scenes: readonly (readonly string[])[], troupes = 2): void {
  describe(title, { concurrency: troupes }, () => {
    for (let troupe = 0; troupe < troupes; troupe++) {
      describe(`of ${troupes} the ${troupe + 1}.`, { concurrency: 1 }, () =>
        playScenes(scenes.filter((_, place) => place % troupes === troupe)),
      )
    }
  })
}

function playScenes(scenes: readonly (readonly string[])[]): void {
  let database: TestDatabase
  let house: InterleavedHouse
  let stage: Stage
  before(async () => {
    database = await openTestDatabase()
    house = await InterleavedHouse.open(database.url)
    stage = openStage(database.url, 3)
  })
  after(async () => {
    await stage.close()
    await house.db.close()
    await database.close()
  })
  for (const names of scenes) {
    test(`${names.join(' beside ')}: no order of their statements breaks a promise`, async (t) => {
      try {
        t.diagnostic(`${await playAll(house, stage, names)} orders`)
      } catch (error) {
        await house.startAfresh()
        throw error
      }
    })
  }
}

async function playAll(house: InterleavedHouse, stage: Stage, names: readonly string[]): Promise<number> {
  const acts = actsIn(house)
  const orders = await stage.playAll(
    async () => {
      const chosen = names.map((name) => acts[name]!)
      const daysBetween = Math.max(...chosen.map((act) => act.daysBetween ?? 0))
      const situation = await house.arrange({
        daysBetween,
        isChanged: chosen.some((act) => act.isChanging),
        isFresh: chosen.some((act) => act.isFresh),
      })
      for (const act of new Set(chosen)) await act.given?.(situation, names)
      const players = chosen.map((act, place) => ({
        name: `${names[place]}${names.indexOf(names[place]!) < place ? ' too' : ''}`,
        act: names[place]!,
        run: (db: Database) => act.run(db, situation).catch(answers),
      }))
      return { players, ignores: ignoresIn(names, house.part) }
    },
    async (order) => {
      try {
        await house.check()
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${order.join('\n')}`, { cause: error })
      }
    },
  )
  await house.checkLog()
  return orders
}

/** What is of other parts; and where days leave, what only looks for them. Of two that retire, the last day to leave stands for the others. */
function ignoresIn(names: readonly string[], part: number): Scene['ignores'] {
  const areAllRetiring = names.every((name) => name === 'retire')
  return ({ name, text }, values) => {
    if (areAllRetiring) return name !== 'script' || !text.includes('events_d')
    if (name === 'lock_part') return values[0] !== part
    return (
      name.startsWith('select_old_queued') ||
      name.startsWith('select_queued') ||
      values[0] === 'attempts' ||
      text.includes('attempts_d')
    )
  }
}

/**
 * A scene of the model on a real PostgreSQL: feeds and webhooks of its own for each walk, on one database for
 * all.
 */

import type { Database, Sql } from '../../src/database/database.ts'
import { dayOf } from '../../src/webhooks/events/days.ts'
import { allParts, learnLayout, poolOf } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { TestClock } from '../support/clock.ts'
import { type Kernel, openKernel, type Values } from './kernel-calls.ts'
import type { Scene } from './model/world.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Its days are dropped: they lie before all others, which are dropped by nobody. */
const droppedPart = allParts.at(-1)!
const begin = new TestClock().now().getTime()

export const kindNames: Readonly<Record<string, string>> = { x: 'TRANSACTION', y: 'APPLICATION' }
export const printKinds = (kinds: string) => [...kinds].map((kind) => kindNames[kind]!)

export interface House {
  readonly db: Database
  readonly kernel: Kernel
  /** Numbers that were given so far. */
  walks: number
  webhooks: number
  droppedDays: number
}

export async function openHouse(db: Database): Promise<House> {
  await learnLayout(db)
  return { db, kernel: await openKernel(db), walks: 0, webhooks: 0, droppedDays: 0 }
}

/** Where the numbers of the model are in the database. */
export interface Stage {
  readonly house: House
  readonly scene: Scene
  readonly parts: readonly number[]
  readonly feeds: readonly number[]
  readonly webhooks: readonly number[]
  readonly days: Map<string, number>
  /** The moment 0 of the model. */
  base: number
  partOfFeed(feed: number): number
  at(moment: number): Date
  momentOf(at: Date): number
  call<Row extends object>(name: string, values: Values, sql?: Sql): Promise<Row[]>
}

export async function openStage(house: House, scene: Scene): Promise<Stage> {
  const { db, kernel } = house
  const isDropping = scene.acts?.some((act) => act.kind === 'drop') ?? false
  const walk = house.walks++
  const modelParts = scene.parts ?? [0]
  const partOf = (part: number) => (isDropping ? droppedPart : (walk + part) % droppedPart)
  const stage: Stage = {
    ...{ house, scene, days: new Map(), base: begin },
    parts: [...new Set(modelParts)].map(partOf),
    feeds: modelParts.map((part, place) => 2 * (allParts.length * (2 * walk + place) + partOf(part))),
    webhooks: scene.webhooks.map(() => ++house.webhooks),
    partOfFeed: (feed) => partOf(modelParts[feed]!),
    at: (moment) => new Date(stage.base + moment * hourMs),
    momentOf: (at) => Math.round((at.getTime() - stage.base) / hourMs),
    call: (name, values, sql) => kernel.call(sql ?? poolOf(db, Number(values.p)), name, values),
  }
  if (isDropping) await openNextDay(stage)
  for (const [place, text] of scene.webhooks.entries()) {
    const feed = Number(text.match(/\d/)?.[0] ?? 0)
    await stage.call('create_cursor', {
      ...{ p: stage.partOfFeed(feed), w: stage.webhooks[place], f: stage.feeds[feed], open: true },
      ...{ wanted: printKinds(text.replace(/\d/, '')), wanted_actions: {}, allowed: true, leads_to: 0 },
    })
  }
  return stage
}

/** Time goes on to a day that nobody has seen. */
export async function openNextDay(stage: Stage): Promise<void> {
  stage.base = begin - (2_000 - stage.house.droppedDays++) * dayMs
  await ask(stage.house.db, 'SELECT open_day($1)', [dayOf(stage.at(0))])
}

/** Nothing of it is left that another walk could meet. */
export async function closeStage(stage: Stage): Promise<void> {
  const { house, parts, feeds, webhooks } = stage
  for (const part of parts) {
    await ask(house.db, 'DELETE FROM outbox WHERE part = $1 AND feed = ANY ($2::int[])', [part, feeds])
    for (const w of webhooks) await stage.call('delete_cursor', { p: part, w })
  }
}

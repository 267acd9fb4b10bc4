/** What the model knows of: the database, what nodes remember, and what the properties have to remember. */
import type { Mutant } from './mutants.ts'

export interface ModelEvent {
  id: number
  feed: number
  entity: string
  kind: string
  tx: number
  /** 0 until it is numbered. */
  seq: number
  /** Of its entity, and committed before it was published. */
  prior: number[]
}
export interface Entry {
  event: number
  entity: string
  kind: string
  /** The webhooks that wanted it when it was numbered. */
  want: number[]
}
/**
 * An entity of which something failed: `seq` is the first unfinished one, the rest waits behind it without a
 * row.
 */
export interface Exception {
  entity: string
  seq: number
  tries: number
  due: number
  written: number
}
/** What was asked for again. */
export interface Repeat {
  seq: number
  round: number
  tries: number
  due: number
  written: number
}
export interface Filter {
  from: number
  kinds: string
}
export interface Replay {
  round: number
  pos: number
  last: number
  state: 'running' | 'finished' | 'canceled'
}
export interface Cursor {
  feed: number
  pos: number
  epoch: number
  holder: number | null
  /**
   * `never` until the sequencer or an act wakes it, a moment at which a retry is due, `now` while held or to
   * be claimed.
   */
  wake: 'now' | 'never' | number
  rested: number
  state: 'active' | 'paused' | 'deleted'
  /** Everything up to here that has no outcome was skipped or has expired (one row for a range). */
  passed: number
  filters: Filter[]
  replays: Replay[]
  rounds: number
}
/** Round 0 is what happened. */
export interface Sending {
  seq: number
  round: number
  attempt: number
}
export interface Result extends Sending {
  ok: boolean
}
/** Everything is reckoned when it is written, from what the holder remembers. */
export interface Settlement {
  epoch: number
  results: Result[]
  /** Keys of deliveries that have ended. */
  finals: string[]
  failed: { entity: string; seq: number; tries: number }[]
  /** Entities whose first unfinished entry has ended. */
  ended: { entity: string; seq: number }[]
  againsFailed: { seq: number; round: number; tries: number }[]
  pos: number
  read: number
  replays: { round: number; pos: number }[]
}
/** What a node remembers of a lane that it believes it holds. */
export interface Lane {
  epoch: number
  state: Cursor['state']
  pos: number
  passed: number
  head: number
  filters: Filter[]
  replay: Replay | null
  done: string[]
  exceptions: Exception[]
  agains: Repeat[]
  flying: Sending[]
  results: Result[]
  settling: Settlement[]
}
export type LaneMemory = Pick<Lane, 'done' | 'exceptions' | 'agains'>
export interface World {
  now: number
  isAhead: boolean
  txs: { step: number; xid: number }[]
  nextId: number
  nextXid: number
  events: ModelEvent[]
  /** One for each feed. */
  logs: Entry[][]
  /** Up to here the days of a feed have left. */
  floors: number[]
  /** Who holds a part for writing. Falling asleep, and acts that need the head, wait for it. */
  locks: (number | null)[]
  /** Of a node and a part. */
  looks: ({ ids: number[]; sleepers: number[] } | null)[][]
  wakes: (number[] | null)[][]
  highest: number
  cursors: Cursor[]
  exceptions: Exception[][]
  agains: Repeat[][]
  /** Keys of deliveries that have a final outcome. */
  finals: string[][]
  lanes: (Lane | null)[][]
  taking: (LaneMemory | null)[][]
  left: { crash: number; takeover: number; fail: number; lostReply: number; clock: number }
  acts: boolean[]
  /**
   * For the properties alone: who took a lane last, whether it was taken for gone, what was sent since and
   * did not fail, what of it has no answer, needless sends, sends after a pause.
   */
  owners: (number | null)[]
  freed: boolean[]
  open: string[][]
  air: string[][]
  needless: number[]
  late: number[]
}

export type Act = { after?: number } & (
  | { kind: 'pause' | 'resume' | 'delete' | 'skip-to-now' | 'cancel-replay' | 'drop' }
  | { kind: 'skip' | 'again' | 'expire' | 'replay'; seq: number }
  | { kind: 'filter'; kinds: string }
)
export interface Scene {
  name: string
  about: string
  /**
   * Transactions with the (entity, kind, feed) of their events: `Ax`, or `Ax1` for feed 1. `apart`: begin,
   * each insert and commit are steps of their own.
   */
  txs: string[][]
  apart?: boolean
  lookAtMost?: number
  /** The part of each feed. */
  parts?: number[]
  /** Kinds that each wants, and its feed: `xy`, or `x1`. */
  webhooks: string[]
  nodes: number
  slots: number
  unsettled: number
  bound: number
  tries: number
  left: Partial<World['left']>
  /** On webhook 0, or its feed. */
  acts?: Act[]
  /**
   * A node taken for gone goes on sending (its clocks stood still), as long as it has room for what is
   * unsettled.
   */
  unaware?: boolean
  /** Entities that are refused for ever. */
  poison?: string
  /** A holder gives back what is above its share. */
  moves?: boolean
  /**
   * The position is moved when a lane falls asleep, and outcomes and exceptions above it are the only memory.
   */
  lazy?: boolean
  /** Retries wait for the clock, which may go ahead and be set right. */
  clock?: boolean
  /**
   * On a real database: a look is one step, because nobody can come between its lock and its commit; and what
   * has to be refused is tried, too.
   */
  played?: boolean
  /** Small enough for every run of the tests. */
  quick?: boolean
}

/** What a step does to the database, for whoever plays it on a real one. */
export type Effect =
  | { do: 'begin'; tx: number }
  | { do: 'commit'; tx: number }
  | { do: 'publish-all'; tx: number }
  | { do: 'publish'; tx: number; place: number }
  | { do: 'look'; node: number; part: number }
  | { do: 'take'; node: number; webhook: number }
  | { do: 'settle'; node: number; webhook: number }
  | { do: 'rest'; node: number; webhook: number; lane: Lane }
  | { do: 'give-back'; node: number; webhook: number; lane: Lane }
  | { do: 'free'; node: number }
  | { do: 'act'; act: Act }
export interface Step {
  label: string
  kind: 'system' | 'fault' | 'act'
  effect?: Effect
  run: (s: World) => void
}

export class BrokenInvariant extends Error {}
export const broken = (what: string): never => {
  throw new BrokenInvariant(what)
}

/** A scene, and what is wrong with the rules. */
export interface Rules {
  scene: Scene
  is: (mutant: Mutant) => boolean
  nodes: number[]
  hooks: number[]
  parts: number[]
  partOf: (feed: number) => number
}

export function openRules(scene: Scene, mutant?: Mutant): Rules {
  const parts = scene.parts ?? [0]
  return {
    scene,
    is: (name) => name === mutant,
    nodes: [...Array(scene.nodes).keys()],
    hooks: [...scene.webhooks.keys()],
    parts: [...new Set(parts)],
    partOf: (feed) => parts[feed]!,
  }
}

/** Entity, kind and feed of what is published. */
export const parseEvent = (text: string) => ({ entity: text[0]!, kind: text[1]!, feed: Number(text[2] ?? 0) })

export function openWorld({ scene, nodes, hooks, parts }: Rules): World {
  const feeds = scene.parts ?? [0]
  return {
    ...{ now: 0, isAhead: false, nextId: 1, nextXid: 1, events: [], highest: 0 },
    txs: scene.txs.map(() => ({ step: 0, xid: 0 })),
    logs: feeds.map(() => []),
    floors: feeds.map(() => 0),
    locks: parts.map(() => null),
    looks: nodes.map(() => parts.map(() => null)),
    wakes: nodes.map(() => parts.map(() => null)),
    cursors: scene.webhooks.map((text) => ({
      ...{ feed: Number(text.match(/\d/)?.[0] ?? 0), pos: 0, epoch: 0, holder: null, wake: 'now', rested: 0 },
      ...{
        state: 'active',
        passed: 0,
        filters: [{ from: 1, kinds: text.replace(/\d/, '') }],
        replays: [],
        rounds: 0,
      },
    })),
    exceptions: hooks.map(() => []),
    agains: hooks.map(() => []),
    finals: hooks.map(() => []),
    lanes: nodes.map(() => hooks.map(() => null)),
    taking: nodes.map(() => hooks.map(() => null)),
    left: { crash: 0, takeover: 0, fail: 0, lostReply: 0, clock: 0, ...scene.left },
    acts: (scene.acts ?? []).map(() => false),
    owners: hooks.map(() => null),
    freed: hooks.map(() => false),
    open: hooks.map(() => []),
    air: hooks.map(() => []),
    needless: hooks.map(() => 0),
    late: hooks.map(() => 0),
  }
}

// ---- what everybody asks ----
/** `3`, or `3-1` for its first round. */
export const keyOf = (seq: number, round: number) => (round === 0 ? `${seq}` : `${seq}-${round}`)
export const logOf = (s: World, w: number) => s.logs[s.cursors[w]!.feed]!
export const entityOf = (s: World, w: number, seq: number) => logOf(s, w)[seq - 1]!.entity
export const wants = (filters: Filter[], entry: Entry, seq: number) =>
  filters.findLast((f) => f.from <= seq)!.kinds.includes(entry.kind)
export const isFinal = (s: World, w: number, seq: number) =>
  s.finals[w]!.includes(`${seq}`) || seq <= s.cursors[w]!.passed
export const exceptionOf = (s: World, w: number, exceptions: Exception[], seq: number) =>
  exceptions.find((x) => x.entity === entityOf(s, w, seq) && x.seq <= seq)
/** Or its time is unknown, because the clock was set back since. */
export const isDue = (s: World, { is }: Rules, x: { due: number; written: number }) =>
  s.now >= x.due || (s.now < x.written && !is('dueByClockAlone'))
export const isAwake = (s: World, { is }: Rules, { wake, rested }: Cursor) =>
  wake === 'now' || (wake !== 'never' && wake <= s.now) || (rested > s.now && !is('wakesByClockAlone'))

/**
 * The steps that change the database for a lane, and the acts from outside: each one is a transaction that
 * locks first and looks afterwards.
 */
import { load } from './lane.ts'
import {
  type Act,
  broken,
  entityOf,
  isDue,
  isFinal,
  keyOf,
  type LaneMemory,
  logOf,
  type Rules,
  type Settlement,
  type World,
} from './world.ts'

export const isHolder = (s: World, n: number, w: number) => s.cursors[w]!.holder === n
/** Took it last, and nobody else did since. */
export const isOwner = (s: World, n: number, w: number) => s.owners[w] === n

/** The next of an entity that is unfinished, after a number and up to another; 0 where there is none. */
function nextUnfinished(s: World, w: number, entity: string, after: number, upto: number): number {
  for (let seq = after + 1; seq <= upto; seq++) {
    const entry = logOf(s, w)[seq - 1]!
    if (entry.entity === entity && entry.want.includes(w) && !isFinal(s, w, seq)) return seq
  }
  return 0
}

/**
 * As far as everything is finished or its entity is an exception: a position is written now and then, and may
 * be behind.
 */
function reachOf(s: World, w: number): number {
  let reach = s.cursors[w]!.pos
  const isPast = ({ entity, want }: { entity: string; want: number[] }) =>
    !want.includes(w) || isFinal(s, w, reach + 1) || s.exceptions[w]!.some((x) => x.entity === entity)
  for (const entry of logOf(s, w).slice(reach)) {
    if (!isPast(entry)) break
    reach++
  }
  return reach
}

/** The first of an entity has ended: its exception goes on, or is none any more. */
function advance(s: World, w: number, entity: string, after: number, upto: number, endsEarly: boolean): void {
  const next = endsEarly ? 0 : nextUnfinished(s, w, entity, after, upto)
  s.exceptions[w] = s.exceptions[w]!.flatMap((x) =>
    x.entity !== entity
      ? [x]
      : next === 0
        ? []
        : [{ entity, seq: next, tries: 0, due: s.now, written: s.now }],
  ).sort((a, b) => a.seq - b.seq)
}

/** A retry waits for the clock where a scene has one. */
const dueAfter = (s: World, { scene }: Rules) => s.now + (scene.clock ? 1 : 0)

function writeFinals(s: World, w: number, finals: string[]): void {
  for (const key of finals)
    if (s.finals[w]!.push(key) !== new Set(s.finals[w]).size) broken(`S7: ${key} gets a second final outcome`)
}

function writeExceptions(s: World, w: number, rules: Rules, it: Settlement): void {
  for (const { entity, seq, tries } of it.failed) {
    const old = s.exceptions[w]!.find((x) => x.entity === entity)
    if (old?.seq === seq && old.tries !== tries - 1 && !rules.scene.poison?.includes(entity))
      broken(`S7: an attempt of ${seq} is counted twice or not at all`)
    const row = { entity, seq, tries, due: dueAfter(s, rules), written: s.now }
    s.exceptions[w] = [...s.exceptions[w]!.filter((x) => x.entity !== entity), row].sort(
      (a, b) => a.seq - b.seq,
    )
  }
  for (const { entity, seq } of it.ended) advance(s, w, entity, seq, it.read, rules.is('exceptionEndsEarly'))
}

function writeAgains(s: World, w: number, rules: Rules, it: Settlement): void {
  const others = s.agains[w]!.filter((x) => !it.results.some((r) => r.seq === x.seq && r.round === x.round))
  const rows = it.againsFailed.map((x) => ({ ...x, due: dueAfter(s, rules), written: s.now }))
  s.agains[w] = [...others, ...rows].sort((a, b) => a.seq - b.seq || a.round - b.round)
}

function writeReplays(s: World, w: number, it: Settlement): void {
  for (const { round, pos } of it.replays) {
    const replay = s.cursors[w]!.replays.find((r) => r.round === round)!
    replay.pos = Math.max(replay.pos, pos)
    if (replay.state === 'running' && pos >= replay.last) replay.state = 'finished'
  }
}

/**
 * A settlement: everything it writes comes from the cursor's row that it locked, if the epoch is still that.
 */
export function settle(s: World, rules: Rules, n: number, w: number, replyIsLost: boolean): void {
  const { is, scene } = rules
  const lane = s.lanes[n]![w]!
  const c = s.cursors[w]!
  const [it] = lane.settling.splice(is('twoSettlements') ? lane.settling.length - 1 : 0, 1) as [Settlement]
  const mine = c.state !== 'deleted' && c.epoch === it.epoch
  const holds = mine || is('settlesWithoutEpoch') || (is('settlesByHolder') && isHolder(s, n, w))
  const before = JSON.stringify([c, s.exceptions[w], s.agains[w], s.finals[w]])
  const keepResults = () => {
    lane.results = [...it.results, ...lane.results]
  }
  const entities = new Set([...s.exceptions[w]!, ...it.failed].map((x) => x.entity))
  if (is('boundIsConstraint') && entities.size > scene.bound) {
    keepResults()
    return
  }
  if (holds || is('insertsUnfenced')) writeFinals(s, w, it.finals)
  if (holds || is('exceptionsUnfenced')) writeExceptions(s, w, rules, it)
  if (holds) {
    writeAgains(s, w, rules, it)
    writeReplays(s, w, it)
    if (it.pos < c.pos) broken(`S6: the position goes back from ${c.pos} to ${it.pos}`)
    c.pos = it.pos
    s.open[w] = s.open[w]!.filter((key) => !it.results.some((r) => keyOf(r.seq, r.round) === key))
  }
  if (!mine && before !== JSON.stringify([c, s.exceptions[w], s.agains[w], s.finals[w]]))
    broken('S5: a holder that was fenced has changed something')
  if (replyIsLost) {
    s.left.lostReply--
    keepResults()
    if (!is('tellsAgainBlindly')) lane.epoch = -1
    return
  }
  if (!holds) keepResults()
  hear(s, rules, n, w)
}

/** The holder sees the row of its cursor: it goes on, loads anew because of an act, or has lost the lane. */
export function hear(s: World, rules: Rules, n: number, w: number): void {
  if (!isHolder(s, n, w) || s.cursors[w]!.state === 'deleted') {
    s.lanes[n]![w] = null
    return
  }
  const { settling } = s.lanes[n]![w]!
  load(s, rules, n, w)
  s.lanes[n]![w]!.settling = settling
}

export function take(s: World, rules: Rules, n: number, w: number, before?: LaneMemory): void {
  const c = s.cursors[w]!
  c.holder = n
  c.wake = 'now'
  if (!rules.is('takesOverWithoutEpoch')) c.epoch++
  if (s.freed[w]) s.open[w] = s.air[w] = []
  s.freed[w] = false
  s.owners[w] = n
  s.lanes[n]![w] = s.taking[n]![w] = null
  load(s, rules, n, w, before)
}

/** Whoever leaves a lane in order has nothing under way. */
export function leave(s: World, n: number, w: number): void {
  s.cursors[w]!.holder = null
  s.owners[w] = null
  s.lanes[n]![w] = null
}

export function rest(s: World, rules: Rules, n: number, w: number): void {
  const { is } = rules
  const c = s.cursors[w]!
  const lane = s.lanes[n]![w]!
  // What was written by a clock that has been set back since is due: its moment may lie far ahead.
  const dues = [...lane.exceptions, ...lane.agains].map((x) =>
    isDue(s, rules, x) && !is('sleepsByOldClock') ? Math.min(x.due, s.now) : x.due,
  )
  c.pos = Math.max(c.pos, lane.head)
  c.wake = dues.length > 0 && !is('sleepsWithoutTimer') ? Math.min(...dues) : 'never'
  c.rested = s.now
  leave(s, n, w)
}

/** Lanes of a node that is gone, or taken for gone, are anybody's. */
export function free(s: World, n: number): void {
  s.cursors.forEach((c, w) => {
    if (c.holder !== n) return
    c.holder = null
    c.wake = 'now'
    s.freed[w] = true
  })
}

/** Everything up to a number is skipped, or has expired; entities that failed go on with what came later. */
function pass(s: World, rules: Rules, w: number, upto: number): void {
  const c = s.cursors[w]!
  c.passed = Math.max(c.passed, upto)
  c.pos = Math.max(c.pos, upto)
  for (const { entity, seq } of [...s.exceptions[w]!])
    if (seq <= upto) advance(s, w, entity, upto, logOf(s, w).length, rules.is('actEndsException'))
  const passed = s.agains[w]!.filter((x) => x.seq <= upto)
  writeFinals(
    s,
    w,
    passed.map((x) => keyOf(x.seq, x.round)),
  )
  s.agains[w] = s.agains[w]!.filter((x) => x.seq > upto)
}

function touch(s: World, { is }: Rules, w: number): void {
  const c = s.cursors[w]!
  if (!is('actsKeepEpoch')) c.epoch++
  if (!is('actsWakeNobody')) c.wake = 'now'
  if (is('actsTakeLane')) c.holder = null
}

/** The epoch changes and the holder stays: it loads anew and keeps its answers. And the lane wakes. */
export function perform(s: World, rules: Rules, act: Act): void {
  const { is, hooks } = rules
  const c = s.cursors[0]!
  const head = logOf(s, 0).length
  if (act.kind === 'drop') {
    for (const w of hooks.filter((each) => s.cursors[each]!.feed === c.feed)) {
      touch(s, rules, w)
      pass(s, rules, w, head)
    }
    s.floors[c.feed] = head
    return
  }
  touch(s, rules, 0)
  if (act.kind === 'pause') c.state = 'paused'
  else if (act.kind === 'resume') c.state = 'active'
  else if (act.kind === 'delete') {
    c.state = 'deleted'
    s.exceptions[0] = s.agains[0] = []
    c.replays = []
  } else if (act.kind === 'filter') {
    const older = is('filterWhenRead') ? [] : c.filters.filter((f) => f.from <= head)
    c.filters = [...older, { from: is('filterWhenRead') ? 1 : head + 1, kinds: act.kinds }]
  } else if (act.kind === 'again')
    s.agains[0]!.push({ seq: act.seq, round: ++c.rounds, tries: 0, due: s.now, written: s.now })
  else if (act.kind === 'replay') {
    const last = is('replayToHead') ? head : reachOf(s, 0)
    c.replays.push({
      round: ++c.rounds,
      pos: act.seq - 1,
      last,
      state: act.seq > last ? 'finished' : 'running',
    })
  } else if (act.kind === 'cancel-replay') c.replays.at(-1)!.state = 'canceled'
  else if (act.kind === 'skip') {
    s.finals[0]!.push(`${act.seq}`)
    const entity = entityOf(s, 0, act.seq)
    if (s.exceptions[0]!.some((x) => x.entity === entity && x.seq === act.seq))
      advance(s, 0, entity, act.seq, head, is('actEndsException'))
  } else pass(s, rules, 0, act.kind === 'expire' ? act.seq : head)
}

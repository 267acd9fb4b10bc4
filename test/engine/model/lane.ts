/**
 * What a node remembers of a lane, and what follows from it: what may be sent now, and what a settlement
 * says.
 */
import {
  entityOf,
  exceptionOf,
  isDue,
  keyOf,
  type Lane,
  type LaneMemory,
  logOf,
  type Result,
  type Rules,
  type Sending,
  type Settlement,
  type World,
  wants,
} from './world.ts'

export const read = (s: World, w: number): LaneMemory => ({
  done: [...s.finals[w]!],
  exceptions: s.exceptions[w]!.map((x) => ({ ...x })),
  agains: s.agains[w]!.map((x) => ({ ...x })),
})

export function load(s: World, { is }: Rules, n: number, w: number, before?: LaneMemory): void {
  const c = s.cursors[w]!
  const old = s.lanes[n]![w]
  const { done, exceptions, agains } = before ?? read(s, w)
  const running = c.replays.find((r) => r.state === 'running')
  const isRemembered = (key: string) =>
    !(is('forgetsAhead') && Number.parseInt(key, 10) > c.pos) &&
    !(is('forgetsReplayed') && running && key.endsWith(`-${running.round}`))
  const lane: Lane = {
    ...{
      epoch: c.epoch,
      state: c.state,
      pos: c.pos,
      passed: c.passed,
      head: logOf(s, w).length,
      filters: c.filters,
    },
    replay: running ? { ...running } : null,
    done: done.filter(isRemembered),
    exceptions: is('forgetsExceptions') ? exceptions.filter((x) => x.seq <= c.pos) : exceptions,
    agains,
    flying: is('reloadForgetsFlying') ? [] : (old?.flying ?? []),
    ...{ results: old?.results ?? [], settling: [] },
  }
  lane.results = lane.results.filter((r) => isOpen(s, w, lane, r))
  s.lanes[n]![w] = lane
}

const isDone = (lane: Lane, seq: number) => seq <= lane.passed || lane.done.includes(`${seq}`)

/**
 * Whether an answer still matters: not if it was skipped or has expired meanwhile, or if this attempt is
 * written down already.
 */
export function isOpen(s: World, w: number, lane: Lane, r: Sending): boolean {
  if (r.round > 0) {
    const row = lane.agains.find((x) => x.seq === r.seq && x.round === r.round)
    if (row) return row.tries < r.attempt
    return (
      lane.replay?.round === r.round && r.seq > lane.replay.pos && !lane.done.includes(keyOf(r.seq, r.round))
    )
  }
  const x = exceptionOf(s, w, lane.exceptions, r.seq)
  if (x?.seq === r.seq && x.tries >= r.attempt) return false
  return !isDone(lane, r.seq) && (x !== undefined || r.seq > lane.pos)
}

/** What an entity with an exception has unfinished, in order, of what was read. */
function unfinished(s: World, w: number, lane: Lane, x: { entity: string; seq: number }): number[] {
  const seqs = []
  for (let seq = Math.max(x.seq, lane.passed + 1); seq <= lane.head; seq++)
    if (
      entityOf(s, w, seq) === x.entity &&
      wants(lane.filters, logOf(s, w)[seq - 1]!, seq) &&
      !isDone(lane, seq)
    )
      seqs.push(seq)
  return seqs
}

/** New entries: wanted, above the position, not finished, of entities without an exception. */
export function fresh(s: World, w: number, { is }: Rules, lane: Lane): number[] {
  const seqs = []
  for (let seq = lane.pos + 1; seq <= lane.head; seq++) {
    const x = exceptionOf(s, w, lane.exceptions, seq)
    const isFree = !x || (is('newPassesException') && x.seq < seq)
    if (isFree && wants(lane.filters, logOf(s, w)[seq - 1]!, seq) && !isDone(lane, seq)) seqs.push(seq)
  }
  return seqs
}

/** What a replay passes: not wanted, unfinished, or done in its round. */
function isPassedByReplay(s: World, w: number, { is }: Rules, lane: Lane, seq: number): boolean {
  if (!wants(lane.filters, logOf(s, w)[seq - 1]!, seq) || lane.done.includes(keyOf(seq, lane.replay!.round)))
    return true
  if (lane.agains.some((x) => x.seq === seq && x.round === lane.replay!.round)) return true
  return (
    !isDone(lane, seq) &&
    exceptionOf(s, w, lane.exceptions, seq) !== undefined &&
    !is('replayTakesUnfinished')
  )
}

/** In order; some of them may be under way. */
function toReplay(s: World, w: number, rules: Rules, lane: Lane): number[] {
  const seqs: number[] = []
  if (lane.replay)
    for (let seq = lane.replay.pos + 1; seq <= lane.replay.last; seq++)
      if (!isPassedByReplay(s, w, rules, lane, seq)) seqs.push(seq)
  return seqs
}

export const underWay = (lane: Lane, withAnswers: boolean): Sending[] => [
  ...lane.flying,
  ...(withAnswers ? [...lane.results, ...lane.settling.flatMap((t) => t.results)] : []),
]

/** What is an exception, or may become one. */
function reserved(s: World, w: number, rules: Rules, lane: Lane): number {
  const { is } = rules
  const waiting = fresh(s, w, rules, lane)
  const ignoresFlying = is('boundIgnoresFlying') || is('boundIsConstraint')
  const open = ignoresFlying
    ? []
    : underWay(lane, true).filter((u) => u.round === 0 && waiting.includes(u.seq))
  const rows = is('rowForEachBehind')
    ? lane.exceptions.flatMap((x) => unfinished(s, w, lane, x))
    : lane.exceptions
  return new Set(open.map((u) => u.seq)).size + rows.length
}

export function sendable(s: World, w: number, rules: Rules, lane: Lane): Sending[] {
  const { scene, is } = rules
  if (lane.state !== 'active' || lane.flying.length >= scene.slots) return []
  if (underWay(lane, true).length >= scene.unsettled && !is('sendsPastLease')) return []
  const entity = (seq: number) => entityOf(s, w, seq)
  const isBusy = (seq: number, round: number) => {
    const isSame = (u: Sending) => u.seq === seq && u.round === round
    const isAlike = (u: Sending) =>
      u.round > 0 === round > 0 && entity(u.seq) === entity(seq) && !(round > 0 && is('replayOverlaps'))
    return (
      underWay(lane, true).some(isSame) || underWay(lane, !is('answerFreesEntity') || round > 0).some(isAlike)
    )
  }
  const full = reserved(s, w, rules, lane) >= scene.bound
  const found: Sending[] = []
  for (const x of lane.exceptions) {
    if (x.seq > lane.head || !isDue(s, rules, x) || (full && is('fullStopsRetries'))) continue
    for (const seq of is('sendsBehind') ? unfinished(s, w, lane, x) : [x.seq])
      if (!isBusy(seq, 0)) found.push({ seq, round: 0, attempt: (seq === x.seq ? x.tries : 0) + 1 })
  }
  const waiting = full ? [] : fresh(s, w, rules, lane)
  for (const seq of waiting) {
    const isAnswered = (q: number) => is('answerFreesEntity') && lane.results.some((r) => r.seq === q && r.ok)
    const isBehind = waiting.some((q) => q < seq && entity(q) === entity(seq) && !isAnswered(q))
    if (!isBehind && !isBusy(seq, 0)) found.push({ seq, round: 0, attempt: 1 })
  }
  const hasLive = found.length > 0
  const isBefore = (a: { seq: number; round: number }, b: { seq: number; round: number }) =>
    a.seq < b.seq || (a.seq === b.seq && a.round < b.round)
  const isHeld = (it: { seq: number; round: number }) =>
    lane.agains.some((x) => isBefore(x, it) && entity(x.seq) === entity(it.seq))
  for (const x of lane.agains)
    if (isDue(s, rules, x) && !isHeld(x) && !isBusy(x.seq, x.round))
      found.push({ seq: x.seq, round: x.round, attempt: x.tries + 1 })
  const replayed = hasLive ? [] : toReplay(s, w, rules, lane)
  for (const seq of replayed) {
    const it = { seq, round: lane.replay!.round, attempt: 1 }
    const isBehind = replayed.some((q) => q < seq && entity(q) === entity(seq) && !is('replayOverlaps'))
    if (!isBehind && !isHeld(it) && !isBusy(seq, it.round)) found.push(it)
  }
  return found
}

/** Whether it is the last attempt. */
export const isEnding = (s: World, w: number, { scene }: Rules, r: Result) =>
  r.ok || (r.attempt >= scene.tries && !scene.poison?.includes(entityOf(s, w, r.seq)))

/** Undefined where there is nothing to say. */
export function settlementOf(s: World, w: number, rules: Rules, lane: Lane): Settlement | undefined {
  const { scene, is } = rules
  const { results } = lane
  const isEnd = (r: Result) => isEnding(s, w, rules, r)
  const finals = results.filter(isEnd).map((r) => keyOf(r.seq, r.round))
  const unsettled = is('twoSettlements') ? lane.settling.flatMap((t) => t.finals) : []
  const told: Lane = { ...lane, done: [...lane.done, ...finals, ...unsettled] }
  // An entity that never ends its retries would have no end of states.
  const triesOf = (r: Result) => (scene.poison?.includes(entityOf(s, w, r.seq)) ? 1 : r.attempt)
  const failures = results.filter((r) => !isEnd(r))
  const failed = failures
    .filter((r) => r.round === 0)
    .map((r) => ({ entity: entityOf(s, w, r.seq), seq: r.seq, tries: triesOf(r) }))
  const againsFailed = failures
    .filter((r) => r.round > 0)
    .map((r) => ({ seq: r.seq, round: r.round, tries: triesOf(r) }))
  const isFirst = (r: Result) =>
    r.round === 0 &&
    isEnd(r) &&
    lane.exceptions.some((x) => x.seq === r.seq && x.entity === entityOf(s, w, r.seq))
  const ended = results.filter(isFirst).map((r) => ({ entity: entityOf(s, w, r.seq), seq: r.seq }))
  // Where the first of an entity has ended, the kernel finds the next, or all that was read is finished.
  const entities = [...lane.exceptions, ...failed]
  const passes = (seq: number) =>
    !wants(lane.filters, logOf(s, w)[seq - 1]!, seq) ||
    isDone(told, seq) ||
    entities.some((x) => x.entity === entityOf(s, w, seq) && x.seq <= seq)
  let pos = lane.pos
  while (!scene.lazy && pos < lane.head && passes(pos + 1)) pos++
  if (is('positionIsHighest'))
    pos = Math.max(pos, ...results.filter((r) => r.round === 0 && isEnd(r)).map((r) => r.seq))
  const replays = []
  if (lane.replay) {
    told.agains = [...lane.agains, ...againsFailed.map((x) => ({ ...x, due: 0, written: 0 }))]
    const [next = lane.replay.last + 1] = toReplay(s, w, rules, told)
    if (next - 1 > lane.replay.pos) replays.push({ round: lane.replay.round, pos: next - 1 })
  }
  if (results.length === 0 && (replays.length === 0 || lane.settling.length > 0)) return undefined
  return {
    epoch: lane.epoch,
    results,
    finals,
    failed: is('positionPassesFailed') ? [] : failed,
    ended,
    againsFailed,
    pos,
    read: lane.head,
    replays,
  }
}

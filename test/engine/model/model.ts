/**
 * The delivery engine as a model: every order of its steps, in scenes small enough to be walked through
 * whole. A step is a commit (one SQL statement, or a transaction that locks first and looks afterwards), a
 * POST, an answer, a crash.
 *
 * S0 the log has each event once, under a number of its own, and an event published after another of its
 * entity was committed comes after it S1 nothing is lost: what was wanted when it was numbered is finished in
 * the end, or recorded as skipped or expired; nothing else is sent S2 of an entity nothing is sent while an
 * earlier one is unfinished or under way S3 what is sent twice was under way at a crash or a takeover S4
 * nobody sleeps before a wanted entry; from every state the engine reaches the end by its own steps (no stuck
 * lane, no livelock) S5 a holder that was fenced changes nothing: no position, outcome, exception or wake-up
 * S6 the position passes nothing that is neither finished nor an exception, and never goes back; an exception
 * is the first unfinished entry of its entity S7 one final outcome for each delivery, each attempt counted
 * once, one exception an entity S8 exceptions are bounded, and full is not stuck (the second half is S4) S9 a
 * replay sends only what is finished, in the order of each entity S10 after a pause or a deletion committed,
 * its holder sends at most what it may have unsettled, and nothing once it has heard
 */
import { free, hear, isHolder, isOwner, leave, perform, rest, settle, take } from './kernel.ts'
import { fresh, isOpen, read, sendable, settlementOf, underWay } from './lane.ts'
import type { Mutant } from './mutants.ts'
import { isCommitted, numbering, publishing } from './numbering.ts'
import {
  type Act,
  broken,
  entityOf,
  exceptionOf,
  isAwake,
  isFinal,
  keyOf,
  logOf,
  openRules,
  openWorld,
  type Rules,
  type Scene,
  type Sending,
  type Step,
  type World,
} from './world.ts'

export interface Model {
  readonly start: World
  steps(s: World): Step[]
  /** Throws `BrokenInvariant` where a property does not hold. */
  check(s: World): void
  isEnd(s: World): boolean
}

export function openModel(scene: Scene, mutant?: Mutant): Model {
  const rules = openRules(scene, mutant)
  const { hooks, nodes } = rules
  const ofLane = (s: World, n: number, w: number) => [...taking(s, rules, n, w), ...holding(s, rules, n, w)]
  return {
    start: openWorld(rules),
    steps: (s) => [
      ...publishing(s, rules),
      ...numbering(s, rules),
      ...hooks.flatMap((w) => nodes.flatMap((n) => ofLane(s, n, w))),
      ...outside(s, rules),
      ...time(s, rules),
    ],
    check: (s) => {
      for (const w of hooks) if (s.cursors[w]!.state !== 'deleted') checkWebhook(s, rules, w)
    },
    isEnd: (s) =>
      s.txs.every((_, tx) => isCommitted(s, rules, tx)) &&
      s.events.every((e) => e.seq > 0) &&
      s.wakes.flat().every((x) => !x) &&
      hooks.every((w) => s.cursors[w]!.state !== 'active' || isSettled(s, rules, w)),
  }
}

// ---- sending ----
function send(s: World, { scene }: Rules, n: number, w: number, it: Sending): void {
  const c = s.cursors[w]!
  const lane = s.lanes[n]![w]!
  const [entity, key] = [entityOf(s, w, it.seq), keyOf(it.seq, it.round)]
  const isOwn = isOwner(s, n, w)
  const isAware = isOwn && lane.epoch === c.epoch
  if (c.state !== 'active' && isHolder(s, n, w)) {
    if (isAware) broken(`S10: ${it.seq} is sent though the webhook is ${c.state}`)
    if (++s.late[w]! > scene.unsettled) broken('S10: too much is sent after the act')
  }
  if (!logOf(s, w)[it.seq - 1]!.want.includes(w))
    broken(`S1: ${it.seq} is sent and was not wanted when it was numbered`)
  if (it.round > 0) {
    if (!isFinal(s, w, it.seq) && isAware) broken(`S9: ${it.seq} is replayed before it was finished`)
    if (isAware && s.agains[w]!.some((x) => x.seq < it.seq && entityOf(s, w, x.seq) === entity))
      broken(`S9: ${it.seq} is sent again before an earlier one of ${entity}`)
  } else
    for (let seq = 1; seq < it.seq; seq++)
      if (entityOf(s, w, seq) === entity && logOf(s, w)[seq - 1]!.want.includes(w) && !isFinal(s, w, seq))
        broken(`S2: ${it.seq} of ${entity} is sent while ${seq} is unfinished`)
  const isAlike = (other: string) =>
    other.includes('-') === it.round > 0 && entityOf(s, w, Number.parseInt(other, 10)) === entity
  if (isOwn && s.air[w]!.some(isAlike))
    broken(`${it.round > 0 ? 'S9' : 'S2'}: ${key} of ${entity} is sent while another one is under way`)
  const isOver = it.round > 0 ? s.finals[w]!.includes(key) : isFinal(s, w, it.seq)
  if (!isOwn || isOver) {
    if (isAware) broken(`S3: ${key} is sent though it is finished`)
    if (++s.needless[w]! > scene.unsettled) broken('S3: a holder that lost its lane goes on and on')
  } else if (s.open[w]!.includes(key)) broken(`S3: ${key} is sent again, and nobody crashed`)
  if (isOwn) {
    s.open[w]!.push(key)
    s.air[w]!.push(key)
  }
  lane.flying.push(it)
}

function answer(s: World, { scene }: Rules, n: number, w: number, place: number, ok: boolean): void {
  const lane = s.lanes[n]![w]!
  const [it] = lane.flying.splice(place, 1) as [Sending]
  const key = keyOf(it.seq, it.round)
  if (!ok && !scene.poison?.includes(entityOf(s, w, it.seq))) s.left.fail--
  if (isOwner(s, n, w)) {
    s.air[w] = s.air[w]!.filter((other) => other !== key)
    if (!ok) s.open[w] = s.open[w]!.filter((other) => other !== key)
  }
  if (isOpen(s, w, lane, it)) lane.results.push({ ...it, ok })
}

// ---- the lane of a node ----
function taking(s: World, rules: Rules, n: number, w: number): Step[] {
  const c = s.cursors[w]!
  if (c.state !== 'active' || c.holder !== null || s.lanes[n]![w] || !isAwake(s, rules, c)) return []
  const label = `node ${n} claims lane ${w}`
  if (rules.is('takesOverInOneStatement') && !s.taking[n]![w])
    return [
      {
        label: `node ${n} begins to claim lane ${w} (snapshot)`,
        kind: 'system',
        run: (t) => {
          t.taking[n]![w] = read(t, w)
        },
      },
    ]
  return [
    {
      label,
      kind: 'system',
      effect: { do: 'take', node: n, webhook: w },
      run: (t) => take(t, rules, n, w, t.taking[n]![w] ?? undefined),
    },
  ]
}

function holding(s: World, rules: Rules, n: number, w: number): Step[] {
  const { scene, is, partOf } = rules
  const lane = s.lanes[n]![w]
  if (!lane) return []
  const c = s.cursors[w]!
  const head = logOf(s, w).length
  const steps: Step[] = []
  const add = (
    label: string,
    run: (t: World) => void,
    kind: Step['kind'] = 'system',
    effect?: Step['effect'],
  ) => steps.push({ label: `node ${n}: ${label}`, kind, run, ...(effect && { effect }) })
  const isLost = !isHolder(s, n, w) || c.state === 'deleted'
  const name = (it: Sending) => `${keyOf(it.seq, it.round)} (${entityOf(s, w, it.seq)}) to webhook ${w}`
  if ((lane.head !== head && !is('neverLooks')) || lane.epoch !== c.epoch || isLost)
    add(
      isLost ? `hears that lane ${w} is not its own` : `looks at the log and the cursor of webhook ${w}`,
      (t) => hear(t, rules, n, w),
    )
  if (isHolder(s, n, w) || scene.unaware)
    for (const it of sendable(s, w, rules, lane)) add(`sends ${name(it)}`, (t) => send(t, rules, n, w, it))
  lane.flying.forEach((it, place) => {
    const isRefused = scene.poison?.includes(entityOf(s, w, it.seq))
    if (!isRefused) add(`${name(it)} is accepted`, (t) => answer(t, rules, n, w, place, true))
    if (isRefused || s.left.fail > 0)
      add(`${name(it)} fails`, (t) => answer(t, rules, n, w, place, false), isRefused ? 'system' : 'fault')
  })
  const what = lane.results.map((r) => keyOf(r.seq, r.round)).join(' and ') || 'nothing new'
  if (lane.settling.length < (is('twoSettlements') ? 2 : 1) && settlementOf(s, w, rules, lane))
    add(`writes a settlement of ${what} for webhook ${w}`, (t) => {
      const it = t.lanes[n]![w]!
      it.settling.push(settlementOf(t, w, rules, it)!)
      it.results = []
    })
  if (lane.settling.length > 0) {
    const effect = { do: 'settle', node: n, webhook: w } as const
    add(
      `the settlement of webhook ${w} commits, or is refused`,
      (t) => settle(t, rules, n, w, false),
      'system',
      effect,
    )
    if (s.left.lostReply > 0)
      add(
        `the settlement of webhook ${w} commits, its answer is lost`,
        (t) => settle(t, rules, n, w, true),
        'fault',
        effect,
      )
  }
  const isIdle = underWay(lane, true).length + lane.settling.length === 0
  const isFenced = isLost || (c.epoch !== lane.epoch && !is('sleepsOverActs'))
  const ofLane = { node: n, webhook: w, lane }
  if (scene.played && isIdle && (isFenced || lane.head !== head)) {
    add(`lane ${w} is not let fall asleep`, () => {}, 'system', { do: 'rest', ...ofLane })
    if (c.epoch !== lane.epoch)
      add(`gives back lane ${w} in vain`, () => {}, 'system', { do: 'give-back', ...ofLane })
  }
  if (!isIdle || isFenced) return steps
  const isFree = s.locks[partOf(c.feed)] === null && lane.head === head
  if (
    lane.state === 'active' &&
    fresh(s, w, rules, lane).length === 0 &&
    !lane.replay &&
    (isFree || is('sleepsUnseen'))
  )
    add(`lane ${w} falls asleep`, (t) => rest(t, rules, n, w), 'system', { do: 'rest', ...ofLane })
  const effect = { do: 'give-back', ...ofLane } as const
  if (lane.state !== 'active')
    add(`lets go of lane ${w}, which is ${lane.state}`, (t) => leave(t, n, w), 'system', effect)
  else if (scene.moves) add(`gives lane ${w} back`, (t) => leave(t, n, w), 'system', effect)
  return steps
}

// ---- acts from outside, and faults ----
function isDueAct(s: World, { partOf }: Rules, act: Act): boolean {
  const c = s.cursors[0]!
  const head = logOf(s, 0).length
  if (act.after !== undefined && !s.acts[act.after]) return false
  // A deleted webhook is not found by anybody.
  if (c.state === 'deleted' && act.kind !== 'drop') return false
  // There are no deliveries of what a webhook does not want.
  const wants = (seq: number) => logOf(s, 0)[seq - 1]?.want.includes(0) ?? false
  if (act.kind === 'skip') return wants(act.seq) && !isFinal(s, 0, act.seq)
  if (act.kind === 'again') return wants(act.seq) && isFinal(s, 0, act.seq)
  const hasUnfinished = (upto: number) =>
    logOf(s, 0)
      .slice(0, upto)
      .some((entry, place) => entry.want.includes(0) && !isFinal(s, 0, place + 1))
  if (act.kind === 'expire') return head >= act.seq && hasUnfinished(act.seq)
  if (act.kind === 'replay') return c.pos >= 1 && head >= act.seq
  if (act.kind === 'cancel-replay') return c.replays.at(-1)?.state === 'running'
  const isFree = s.locks[partOf(c.feed)] === null
  if (act.kind === 'skip-to-now') return isFree && hasUnfinished(head)
  if (act.kind === 'drop') return isFree && head > 0
  return act.kind !== 'filter' || isFree
}

function outside(s: World, rules: Rules): Step[] {
  const { scene, nodes, hooks } = rules
  const steps: Step[] = []
  scene.acts?.forEach((act, place) => {
    if (s.acts[place] || !isDueAct(s, rules, act)) return
    const what =
      'seq' in act ? `${act.kind} ${act.seq}` : act.kind === 'filter' ? `filter ${act.kinds}` : act.kind
    const run = (t: World) => {
      t.acts[place] = true
      perform(t, rules, act)
    }
    steps.push({ label: `somebody: ${what} of webhook 0`, kind: 'act', effect: { do: 'act', act }, run })
  })
  for (const n of nodes) {
    const effect = { do: 'free', node: n } as const
    if (s.left.takeover > 0 && s.cursors.some((c) => c.holder === n))
      steps.push({
        label: `node ${n} is taken for gone`,
        kind: 'fault',
        effect,
        run: (t) => {
          t.left.takeover--
          free(t, n)
        },
      })
    if (s.left.crash > 0)
      steps.push({
        label: `node ${n} crashes`,
        kind: 'fault',
        effect,
        run: (t) => {
          t.left.crash--
          t.lanes[n] = hooks.map(() => null)
          t.taking[n] = hooks.map(() => null)
          t.looks[n] = rules.parts.map(() => null)
          t.wakes[n] = rules.parts.map(() => null)
          t.locks = t.locks.map((holder) => (holder === n ? null : holder))
          free(t, n)
          t.owners.forEach((owner, w) => {
            if (owner !== n) return
            t.owners[w] = null
            t.open[w] = t.air[w] = []
          })
        },
      })
  }
  return steps
}

// ---- the clock ----
const hour = 100
function time(s: World, { scene }: Rules): Step[] {
  if (!scene.clock) return []
  const steps: Step[] = []
  const moments = [...s.exceptions.flat(), ...s.agains.flat()].map((x) => x.due)
  for (const { wake } of s.cursors) if (typeof wake === 'number') moments.push(wake)
  // An hour is longer than anybody waits.
  if (moments.some((at) => at > s.now && at <= s.now + 2))
    steps.push({ label: 'time goes on', kind: 'system', run: (t) => void t.now++ })
  if (s.left.clock > 0)
    steps.push({
      label: s.isAhead ? 'the clock is set right' : 'the clock goes an hour ahead',
      kind: 'fault',
      run: (t) => {
        t.left.clock--
        t.now += t.isAhead ? -hour : hour
        t.isAhead = !t.isAhead
      },
    })
  return steps
}

// ---- properties of a state ----
function checkWebhook(s: World, { scene }: Rules, w: number): void {
  const c = s.cursors[w]!
  const rows = s.exceptions[w]!
  const isAsleep = c.wake !== 'now' && c.state === 'active' && !s.wakes.flat().some((x) => x)
  logOf(s, w).forEach((entry, place) => {
    const seq = place + 1
    if (!entry.want.includes(w) || isFinal(s, w, seq) || exceptionOf(s, w, rows, seq)) return
    if (seq <= c.pos)
      broken(`S6: the position of webhook ${w} is ${c.pos}, and ${seq} is neither finished nor an exception`)
    if (isAsleep) broken(`S4: webhook ${w} sleeps before ${seq}`)
    if (rows.some((x) => x.entity === entry.entity))
      broken(`S6: the exception of ${entry.entity} is not its first unfinished entry, which is ${seq}`)
  })
  for (const x of rows)
    if (isFinal(s, w, x.seq)) broken(`S6: the exception of ${x.entity} is ${x.seq}, which is finished`)
  if (rows.length > scene.bound) broken('S8: more exceptions than the bound')
  if (c.pos > logOf(s, w).length) broken('S6: the position is beyond the head')
  if (new Set(rows.map((x) => x.entity)).size !== rows.length) broken('S7: two exceptions of an entity')
  for (const x of s.agains[w]!)
    if (!isFinal(s, w, x.seq)) broken(`S9: ${x.seq} is asked for again and has not ended`)
}

function isSettled(s: World, { scene }: Rules, w: number): boolean {
  const isPoison = (entity: string) => scene.poison?.includes(entity)
  return (
    s.cursors[w]!.replays.every((r) => r.state !== 'running') &&
    s.exceptions[w]!.every((x) => isPoison(x.entity)) &&
    s.agains[w]!.every((x) => isPoison(entityOf(s, w, x.seq))) &&
    logOf(s, w).every(
      (entry, place) => !entry.want.includes(w) || isFinal(s, w, place + 1) || isPoison(entry.entity),
    )
  )
}

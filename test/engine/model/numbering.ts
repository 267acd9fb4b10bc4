/**
 * Publishing in transactions, and the sequencer: gives what became visible its number and wakes the lanes
 * that want it.
 */
import { broken, type Entry, parseEvent, type Rules, type Step, type World, wants } from './world.ts'

export const isCommitted = (s: World, { scene }: Rules, tx: number) =>
  s.txs[tx]!.step > scene.txs[tx]!.length + 1

function insert(s: World, rules: Rules, tx: number, text: string): void {
  const { scene, is } = rules
  const { entity, kind, feed } = parseEvent(text)
  const id = is('cachedIds') ? 10 * (scene.txs.length - tx) + s.txs[tx]!.step : s.nextId++
  const isPrior = (e: World['events'][0]) =>
    e.feed === feed && e.entity === entity && (e.tx === tx || isCommitted(s, rules, e.tx))
  s.events.push({ id, feed, entity, kind, tx, seq: 0, prior: s.events.filter(isPrior).map((e) => e.id) })
}

export function publishing(s: World, rules: Rules): Step[] {
  const { scene, is } = rules
  return scene.txs.flatMap((events, tx): Step[] => {
    const { step } = s.txs[tx]!
    if (isCommitted(s, rules, tx)) return []
    if (!scene.apart) {
      const run = (t: World) => {
        for (const e of events) insert(t, rules, tx, e)
        t.txs[tx]!.step = events.length + 2
      }
      return [
        {
          label: `transaction ${tx} publishes ${events} and commits`,
          kind: 'system',
          effect: { do: 'publish-all', tx },
          run,
        },
      ]
    }
    const go = (label: string, effect: Step['effect'] & object, run: (t: World) => void): Step[] => [
      {
        label: `transaction ${tx} ${label}`,
        kind: 'system',
        effect,
        run: (t) => {
          run(t)
          t.txs[tx]!.step++
        },
      },
    ]
    if (step === 0)
      return go('begins (and writes something)', { do: 'begin', tx }, (t) => {
        t.txs[tx]!.xid = is('orderByTransaction') ? t.nextXid++ : 0
      })
    if (step > events.length) return go('commits', { do: 'commit', tx }, () => {})
    return go(`publishes ${events[step - 1]}`, { do: 'publish', tx, place: step - 1 }, (t) =>
      insert(t, rules, tx, events[step - 1]!),
    )
  })
}

function unread(s: World, rules: Rules, part: number): number[] {
  const { scene, is, partOf } = rules
  return s.events
    .filter(
      (e) =>
        partOf(e.feed) === part &&
        isCommitted(s, rules, e.tx) &&
        e.seq === 0 &&
        (!is('cursorById') || e.id > s.highest),
    )
    .sort((a, b) => (is('orderByTransaction') && s.txs[a.tx]!.xid - s.txs[b.tx]!.xid) || a.id - b.id)
    .slice(0, scene.lookAtMost ?? 9)
    .map((e) => e.id)
}

function sleepers(s: World, { hooks, is, partOf }: Rules, part: number): number[] {
  const isAsleep = ({ wake }: World['cursors'][0]) =>
    wake !== 'now' && !(is('wakesNobodyWithTimer') && wake !== 'never')
  return hooks.filter((w) => partOf(s.cursors[w]!.feed) === part && isAsleep(s.cursors[w]!))
}

function number(s: World, rules: Rules, id: number): Entry {
  const event = s.events.find((e) => e.id === id)!
  const log = s.logs[event.feed]!
  if (event.seq) broken(`S0: event ${event.entity}${event.kind} is in the log twice`)
  if (event.prior.some((p) => s.events.find((e) => e.id === p)!.seq === 0))
    broken(`S0: event ${id} (${event.entity}) comes before one that was committed before it was published`)
  const entry: Entry = { event: id, entity: event.entity, kind: event.kind, want: [] }
  event.seq = log.length + 1 - (rules.is('headForgetsDays') ? s.floors[event.feed]! : 0)
  if (event.seq <= log.length) broken(`S0: ${event.seq} is the number of two events`)
  log.push(entry)
  const { hooks } = rules
  entry.want = hooks.filter(
    (w) => s.cursors[w]!.feed === event.feed && wants(s.cursors[w]!.filters, entry, event.seq),
  )
  if (rules.is('cursorById')) s.highest = Math.max(s.highest, id)
  return entry
}

function append(s: World, rules: Rules, n: number, part: number): void {
  const { is } = rules
  const look = s.looks[n]![part]!
  const entries = look.ids.map((id) => number(s, rules, id))
  const stillAsleep = sleepers(s, rules, part)
  const asleep = is('sequencerInOneStatement')
    ? look.sleepers.filter((w) => stillAsleep.includes(w))
    : stillAsleep
  const called = asleep.filter((w) => entries.some((entry) => entry.want.includes(w)))
  if (is('wakesAfterCommit')) s.wakes[n]![part] = called
  else for (const w of called) s.cursors[w]!.wake = 'now'
  s.looks[n]![part] = s.locks[part] = null
}

export function numbering(s: World, rules: Rules): Step[] {
  const { nodes, parts, scene, is } = rules
  const ofPart = (n: number, part: number): Step[] => {
    const who = parts.length > 1 ? `sequencer ${n} of part ${part}` : `sequencer ${n}`
    const step = (label: string, run: (t: World) => void, effect?: Step['effect']): Step[] => [
      { label: `${who} ${label}`, kind: 'system', run, ...(effect && { effect }) },
    ]
    if (s.wakes[n]![part])
      return step('wakes sleepers', (t) => {
        for (const w of t.wakes[n]![part]!) t.cursors[w]!.wake = 'now'
        t.wakes[n]![part] = null
      })
    const look = s.looks[n]![part]
    const holder = s.locks[part]!
    if (look) {
      const names = look.ids.map((id) => s.events.find((e) => e.id === id)!).map((e) => e.entity + e.kind)
      return holder !== null && holder !== n
        ? []
        : step(`appends ${names}, wakes and commits`, (t) => append(t, rules, n, part))
    }
    const inOne = is('sequencerInOneStatement')
    if (unread(s, rules, part).length === 0 || (holder !== null && !inOne)) return []
    const begin = (t: World) => {
      if (!inOne) t.locks[part] = n
      t.looks[n]![part] = { ids: unread(t, rules, part), sleepers: sleepers(t, rules, part) }
    }
    if (!scene.played)
      return step(inOne ? 'begins its statement (snapshot)' : 'locks the part and looks', begin)
    return step(
      'looks, appends, wakes and commits',
      (t) => {
        begin(t)
        append(t, rules, n, part)
      },
      { do: 'look', node: n, part },
    )
  }
  return nodes.flatMap((n) => parts.flatMap((part) => ofPart(n, part)))
}

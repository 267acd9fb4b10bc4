/**
 * Breadth first, so that a counterexample is a shortest one; then backwards from the ends, to find what
 * cannot reach one.
 */
import { openModel } from './model.ts'
import type { Mutant } from './mutants.ts'
import { BrokenInvariant, type Scene, type World } from './world.ts'

export interface Report {
  readonly states: number
  readonly depth: number
  /** False where the limit was reached, or a property does not hold. */
  readonly whole: boolean
  readonly failure?: { readonly what: string; readonly trace: readonly string[] }
}

/**
 * The state as text. Two nodes are alike, epochs count only as "this one" and "an older one", and lists that
 * are sets are sorted.
 */
function canonical(s: World): string {
  const bySeq = (a: { seq: number; round: number }, b: { seq: number; round: number }) =>
    a.seq - b.seq || a.round - b.round
  for (const lanes of s.lanes)
    for (const [w, lane] of lanes.entries()) {
      if (!lane) continue
      for (const it of [lane, ...lane.settling]) it.epoch = it.epoch === s.cursors[w]!.epoch ? 0 : -1
      lane.flying.sort(bySeq)
      lane.results.sort(bySeq)
      lane.done.sort()
    }
  for (const c of s.cursors) c.epoch = 0
  for (const lists of [s.finals, s.open, s.air]) for (const list of lists) list.sort()
  const { lanes, looks, wakes, taking, locks, owners, cursors, ...rest } = s
  const ofNode = (n: number) =>
    JSON.stringify([
      lanes[n],
      looks[n],
      wakes[n],
      taking[n],
      locks.map((holder) => holder === n),
      owners.map((owner) => owner === n),
      cursors.map((c) => c.holder === n),
    ])
  const nodes = lanes.map((_, n) => ofNode(n)).sort()
  const isHeld = cursors.map((c) => ({ ...c, holder: c.holder !== null }))
  return (
    JSON.stringify([rest, isHeld, locks.map((l) => l !== null), owners.map((o) => o !== null)]) + nodes.join()
  )
}

export function copy<T>(it: T): T {
  if (typeof it !== 'object' || it === null) return it
  if (Array.isArray(it)) return it.map(copy) as T
  const made: Record<string, unknown> = {}
  for (const key in it) made[key] = copy(it[key])
  return made as T
}

/** 53 bits: with five million states, two are taken for one with a probability of 0.1 %. */
function hash(text: string): number {
  let [a, b] = [0xdeadbeef, 0x41c6ce57]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return 4294967296 * (2097151 & b) + (a >>> 0)
}

export function explore(scene: Scene, mutant?: Mutant, limit = 3_000_000): Report {
  const { start, steps, check, isEnd } = openModel(scene, mutant)
  const known = new Map<number, number>()
  const hashes: number[] = []
  const parents: number[] = []
  const ends: number[] = []
  const from: number[] = []
  const to: number[] = []
  let depth = 0
  const enter = (key: number, parent: number): number => {
    known.set(key, hashes.length)
    parents.push(parent)
    return hashes.push(key) - 1
  }
  const keyOf = (s: World) => hash(canonical(copy(s)))
  const broken = (s: World): string | undefined => {
    try {
      check(s)
    } catch (error) {
      if (error instanceof BrokenInvariant) return error.message
      throw error
    }
  }
  /** The path is walked again, from state to state by their hashes. */
  const traceTo = (index: number): string[] => {
    const path: number[] = []
    for (let at = index; parents[at]! >= 0; at = parents[at]!) path.unshift(hashes[at]!)
    let s = start
    const labels = path.map((target) => {
      for (const step of steps(s)) {
        const next = copy(s)
        try {
          step.run(next)
        } catch {
          continue
        }
        if (keyOf(next) !== target) continue
        s = next
        return step.label
      }
      throw new Error('a path that was walked cannot be walked again')
    })
    return labels
  }
  const report = (whole: boolean, failure?: Report['failure']): Report => ({
    states: hashes.length,
    depth,
    whole,
    ...(failure && { failure }),
  })
  let level = [copy(start)]
  let first = enter(keyOf(level[0]!), -1)
  for (; level.length > 0; depth++) {
    const below: World[] = []
    const base = first
    first = hashes.length
    for (const [i, s] of level.entries()) {
      if (isEnd(s)) ends.push(base + i)
      for (const step of steps(s)) {
        const next = copy(s)
        let what: string | undefined
        try {
          step.run(next)
          what = broken(next)
        } catch (error) {
          if (!(error instanceof BrokenInvariant)) throw error
          what = error.message
        }
        if (what) return report(false, { what, trace: [...traceTo(base + i), step.label] })
        const key = keyOf(next)
        const index = known.get(key)
        if (index === undefined) below.push(next)
        const target = index ?? enter(key, base + i)
        if (step.kind !== 'system') continue
        from.push(base + i)
        to.push(target)
      }
      if (hashes.length > limit) return report(false)
    }
    level = below
  }
  const stuck = findUnableToReach(ends, from, to, hashes.length)
  if (stuck >= 0)
    return report(true, {
      what: 'S4: from here the engine never reaches the end by its own steps',
      trace: traceTo(stuck),
    })
  return report(true)
}

/** The first state from which no step of the engine's own leads to an end, or -1. */
function findUnableToReach(ends: number[], from: number[], to: number[], count: number): number {
  const begins = new Int32Array(count + 1)
  for (const t of to) begins[t + 1]!++
  for (let i = 0; i < count; i++) begins[i + 1]! += begins[i]!
  const sources = new Int32Array(to.length)
  const next = begins.slice()
  to.forEach((t, i) => {
    sources[next[t]!++] = from[i]!
  })
  const reaches = new Uint8Array(count)
  const queue = [...ends]
  for (const at of queue) reaches[at] = 1
  while (queue.length > 0) {
    const at = queue.pop()!
    for (let i = begins[at]!; i < begins[at + 1]!; i++) {
      const source = sources[i]!
      if (!reaches[source]) queue.push(source)
      reaches[source] = 1
    }
  }
  return reaches.indexOf(0)
}

/** What work has to wait for: cores that several threads share, locks, connections, and the disk under PostgreSQL's log. */
import type { Timeline } from './timeline.ts'

/** A longer piece of work lets others in between, as an operating system does. */
const sliceUs = 1_000

export interface Cores {
  readonly count: number
  readonly busyUs: number
  run(workUs: number, done: () => void): void
}

export function openCores(timeline: Timeline, count: number): Cores {
  const waiting = openQueue<{ leftUs: number; done: () => void }>()
  let free = count
  let busyUs = 0
  const start = () => {
    while (free > 0 && waiting.length > 0) {
      const work = waiting.take()!
      const slice = Math.min(work.leftUs, sliceUs)
      free--
      timeline.after(slice, () => {
        free++
        busyUs += slice
        work.leftUs -= slice
        if (work.leftUs > 0) waiting.add(work)
        else work.done()
        start()
      })
    }
  }
  return {
    count,
    get busyUs() {
      return busyUs
    },
    run(workUs, done) {
      waiting.add({ leftUs: workUs, done })
      start()
    },
  }
}

/** Does one thing at a time: a node's JavaScript, or a connection's process in PostgreSQL. */
export interface Thread {
  readonly busyUs: number
  /** With the time in which it waited for a core: what the thread itself would call busy. */
  readonly activeUs: number
  run(workUs: number, done: () => void): void
}

export function openThread(timeline: Timeline, cores: Cores): Thread {
  const waiting = openQueue<{ workUs: number; done: () => void }>()
  let isBusy = false
  let busyUs = 0
  let activeUs = 0
  const start = () => {
    const next = isBusy ? undefined : waiting.take()
    if (!next) return
    isBusy = true
    const startedUs = timeline.nowUs
    cores.run(next.workUs, () => {
      isBusy = false
      busyUs += next.workUs
      activeUs += timeline.nowUs - startedUs
      next.done()
      start()
    })
  }
  return {
    get busyUs() {
      return busyUs
    },
    get activeUs() {
      return activeUs
    },
    run(workUs, done) {
      waiting.add({ workUs, done })
      start()
    },
  }
}

export interface Lock {
  readonly heldUs: number
  readonly isHeld: boolean
  /** Calls back when the lock is ours, or when it was not within the patience. */
  take(taken: (isOurs: boolean) => void, patienceUs?: number): void
  release(): void
}

/** Whoever came first has it first. */
export function openLock(timeline: Timeline): Lock {
  const waiting = openQueue<{ taken: (isOurs: boolean) => void; isGone: boolean }>()
  let heldSince: number | undefined
  let heldUs = 0
  const hand = () => {
    let next = waiting.take()
    while (next?.isGone) next = waiting.take()
    if (!next) return
    next.isGone = true
    heldSince = timeline.nowUs
    next.taken(true)
  }
  const giveUp = (waiter: { taken: (isOurs: boolean) => void; isGone: boolean }) => {
    if (waiter.isGone) return
    waiter.isGone = true
    waiter.taken(false)
  }
  return {
    get heldUs() {
      return heldUs + (heldSince === undefined ? 0 : timeline.nowUs - heldSince)
    },
    get isHeld() {
      return heldSince !== undefined
    },
    take(taken, patienceUs) {
      const waiter = { taken, isGone: false }
      waiting.add(waiter)
      if (heldSince === undefined) hand()
      else if (patienceUs !== undefined) timeline.after(patienceUs, () => giveUp(waiter))
    },
    release() {
      heldUs += timeline.nowUs - heldSince!
      heldSince = undefined
      hand()
    },
  }
}

/** A node's connections: a transaction has one from its first statement to its end, also while it waits for a lock. */
export interface Connections {
  take(taken: () => void): void
  release(): void
}

export function openConnections(count: number): Connections {
  const waiting = openQueue<() => void>()
  let free = count
  return {
    take(taken) {
      if (free === 0) return waiting.add(taken)
      free--
      taken()
    },
    release() {
      const next = waiting.take()
      if (next) next()
      else free++
    },
  }
}

/** Commits that wait at the same time are written together. */
export interface Log {
  readonly bytes: number
  flush(bytes: number, done: () => void): void
}

export function openLog(timeline: Timeline, commitUs: number, bytesPerUs: number): Log {
  let waiting: (() => void)[] = []
  let waitingBytes = 0
  let isBusy = false
  let total = 0
  const start = () => {
    if (isBusy || waiting.length === 0) return
    const [written, bytes] = [waiting, waitingBytes]
    waiting = []
    waitingBytes = 0
    isBusy = true
    timeline.after(commitUs + bytes / bytesPerUs, () => {
      isBusy = false
      total += bytes
      for (const done of written) done()
      start()
    })
  }
  return {
    get bytes() {
      return total
    },
    flush(bytes, done) {
      waiting.push(done)
      waitingBytes += bytes
      start()
    },
  }
}

/** First in, first out, without moving what waits. */
export interface Queue<Item> {
  readonly length: number
  add(item: Item): void
  take(): Item | undefined
}

export function openQueue<Item>(): Queue<Item> {
  let items: Item[] = []
  let first = 0
  return {
    get length() {
      return items.length - first
    },
    add(item) {
      items.push(item)
    },
    take() {
      const item = items[first]
      if (first < items.length) first++
      if (first > 1_000 && first * 2 > items.length) {
        items = items.slice(first)
        first = 0
      }
      return item
    },
  }
}

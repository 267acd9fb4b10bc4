/**
 * Keeps the parts read. Whoever publishes here says which part has something; what others wrote, a core's own transaction among them,
 * is found by a look: in the rounds of the node, and sooner while somebody else writes. Whoever finds a part taken waits for its turn.
 */
import type { Logger } from 'pino'
import { minute } from '../clock.ts'
import { openFlights } from '../single-flight.ts'
import { type DispatchDesk, type Dispatched, dispatchOnce } from './dispatch.ts'
import { selectPartsWithNews } from './inbox.sql.ts'
import { tryWritingToPart, writeToPart } from './part.ts'

/** The first of many events are sent while the last wait to be dispatched; a backlog is taken in larger and larger pieces. */
const eventsAtFirst = 25
const eventsAtMost = 400
/** Whoever has something to settle in the part waits meanwhile: what is sent and not written down would be sent again after a crash. */
const deliveriesAtMost = 1_000
const lookEveryMs = 150
/** Somebody who wrote past the node may write again. */
const watchfulMs = minute
/** The other connections are for whoever else wants something. */
const partsAtOnce = 2

export interface Dispatcher {
  /** Something came in this part. */
  wake(part: number): void
  /** Nothing of this part is under way here, or about to be. */
  isQuiet(part: number): boolean
  /** These parts have something that nobody here was told of, by the look of it. */
  found(parts: readonly number[]): void
  /** Looks at all parts now. */
  look(): void
  close(): Promise<void>
}

export function openDispatcher(desk: DispatchDesk, log: Logger): Dispatcher {
  const wanted = new Set<number>()
  const running = new Map<number, Promise<void>>()
  const looks = openFlights(lookOnce)
  let isClosing = false
  let watchfulUntilMs = 0
  const timer = setInterval(() => performance.now() < watchfulUntilMs && look(), lookEveryMs)

  function isQuiet(part: number): boolean {
    return !wanted.has(part) && !running.has(part)
  }

  function wake(part: number): void {
    wanted.add(part)
    start()
  }

  function start(): void {
    for (const part of wanted) {
      if (isClosing || running.size >= partsAtOnce) return
      if (running.has(part)) continue
      const run = dispatchAll(part).finally(() => {
        running.delete(part)
        start()
      })
      running.set(part, run)
    }
  }

  /** How many entries of a part make no more deliveries than one dispatch should. */
  const fitting = new Map<number, number>()

  async function dispatchAll(part: number): Promise<void> {
    let most = Math.min(eventsAtFirst, fitting.get(part) ?? eventsAtMost)
    for (let waits = false; wanted.has(part) && !isClosing; ) {
      wanted.delete(part)
      try {
        const taken = await dispatchOnce(desk, part, most, waits ? writeToPart : tryWritingToPart)
        // Whoever is at it may have looked before the newest came.
        waits = taken === undefined
        if (waits || taken?.entries === most) wanted.add(part)
        if (taken) most = next(part, taken, most)
      } catch (error) {
        // If it was too much for the time it has, less is not.
        most = Math.ceil(most / 4)
        complain(error)
        return
      }
    }
  }

  function next(part: number, { entries, deliveries }: Dispatched, most: number): number {
    if (entries > 0) fitting.set(part, Math.max(1, Math.floor((deliveriesAtMost * entries) / Math.max(1, deliveries))))
    return Math.min(entries === most ? 2 * most : eventsAtFirst, fitting.get(part) ?? eventsAtMost, eventsAtMost)
  }

  function look(): void {
    if (!isClosing) void looks.join()
  }

  function found(parts: readonly number[]): void {
    const news = parts.filter(isQuiet)
    if (news.length > 0) watchfulUntilMs = performance.now() + watchfulMs
    for (const part of news) wake(part)
  }

  async function lookOnce(): Promise<void> {
    try {
      found((await desk.db.query<{ part: number }>(selectPartsWithNews)).map(({ part }) => part))
    } catch (error) {
      complain(error)
    }
  }

  function complain(error: unknown): void {
    if (!isClosing) log.warn({ err: error }, 'the dispatcher was interrupted; it goes on by itself')
  }

  look()
  return {
    wake,
    isQuiet,
    found,
    look,
    async close() {
      isClosing = true
      clearInterval(timer)
      await looks.landed()
      await Promise.all(running.values())
    },
  }
}

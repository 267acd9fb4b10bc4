/**
 * Says that something was published, outside the transaction that did it: to the worker of this process, or,
 * where there is none, to those of others, once for many. Who is not reached finds it by a look of its own.
 */
import type { Clock } from '../../clock.ts'
import { type Database, isBlocked, step } from '../../database/database.ts'
import { beImpatientFor, look, notify } from './log.sql.ts'
import { printNews } from './news.ts'
import { poolOf } from './part.ts'
import { entriesAtMost, type Looked, lookedAt } from './sequencer.ts'

const quietMs = 5
/** For whoever is at the part: somebody waits for an answer. */
const beImpatient = step(beImpatientFor, { timeout: '500ms' })

/** The worker of this process, which is told at once. */
interface Served {
  /** Something was published in these parts. */
  published(parts: Iterable<number>): void
  /** These have numbers already. */
  numbered(looked: Looked): void
}

export interface Announcer {
  published(parts: readonly number[]): void
  numbered(looked: Looked): void
  /** Whether this process delivers. */
  readonly isLocal: boolean
  /**
   * For whoever wants to see the deliveries of what it has just committed. It has no number yet where others
   * are at the part for long.
   */
  number(part: number): Promise<void>
  /** From now on this worker is told. */
  serve(worker: Served): void
}

export function openAnnouncer(db: Database, clock: Clock): Announcer {
  let served: Served | undefined
  const untold = new Set<number>()
  function tellOthers(parts: readonly number[]): void {
    const isPlanned = untold.size > 0
    for (const part of parts) untold.add(part)
    if (isPlanned || untold.size === 0) return
    setTimeout(() => {
      const published = [...untold]
      untold.clear()
      db.query(notify, { news: printNews({ feeds: [], parts: [], published }) }).catch(() => {})
    }, quietMs).unref()
  }
  function numbered(looked: Looked): void {
    if (served) {
      served.numbered(looked)
      return
    }
    const heads = new Map(looked.entries.map(({ feed, seq }) => [feed, seq]))
    const feeds = [...heads].map(([feed, head]) => ({ feed, head }))
    if (feeds.length > 0)
      db.query(notify, { news: printNews({ feeds, parts: [looked.part] }) }).catch(() => {})
  }
  return {
    get isLocal() {
      return served !== undefined
    },
    published(parts) {
      if (served) served.published(parts)
      else tellOthers(parts)
    },
    numbered,
    async number(part) {
      try {
        const looking = step(look, { part, now: clock.now(), most: entriesAtMost })
        const [, rows] = await poolOf(db, part).together([beImpatient, looking])
        if (rows.length > 0) numbered(lookedAt(part, rows))
      } catch (error) {
        if (!isBlocked(error)) throw error
      }
    },
    serve(worker) {
      served = worker
    },
  }
}

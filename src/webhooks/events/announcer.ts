/**
 * Says that something was published, outside the transaction that did it: to the worker of this process, or,
 * where there is none, to those of other processes, once for many. A worker that is not reached finds it by a
 * look of its own.
 */
import type { Clock } from '../../clock.ts'
import { type Database, isBlocked, step } from '../../database/database.ts'
import { carry } from './carrier.ts'
import { look, notify, setLockTimeout } from './log.sql.ts'
import { printNews } from './news.ts'
import { entriesAtMost, type NumberedBatch, numberedBy } from './numbered-batch.ts'
import { isDistributed, poolOf } from './part.ts'

const quietMs = 5
/** For the wait on the sequencer that holds the part: a caller is waiting for the answer. */
const shortLockTimeout = { timeout: '500ms' }

/** The worker of this process, which is told at once. */
interface LocalWorker {
  /** Something was published in these parts. */
  published(parts: Iterable<number>): void
  /** These have numbers already. */
  numbered(batch: NumberedBatch): void
}

export interface Announcer {
  published(parts: readonly number[]): void
  numbered(batch: NumberedBatch): void
  /** Whether this process delivers. */
  readonly isLocal: boolean
  /**
   * For a caller that wants to see the deliveries of what it has just committed. The events have no numbers
   * yet where other sequencers hold the part for long.
   */
  number(part: number): Promise<void>
  /** From now on this worker is told. */
  serve(worker: LocalWorker): void
}

export function openAnnouncer(db: Database, clock: Clock): Announcer {
  let localWorker: LocalWorker | undefined
  const untold = new Set<number>()
  function tellOthers(parts: readonly number[]): void {
    const isPlanned = untold.size > 0
    for (const part of parts) untold.add(part)
    if (isPlanned || untold.size === 0) return
    setTimeout(() => {
      const published = [...untold]
      untold.clear()
      tell({ feeds: [], parts: [], published })
    }, quietMs).unref()
  }
  function numbered(batch: NumberedBatch): void {
    if (localWorker) {
      localWorker.numbered(batch)
      return
    }
    const heads = new Map(batch.entries.map(({ feed, seq }) => [feed, seq]))
    const feeds = [...heads].map(([feed, head]) => ({ feed, head }))
    if (feeds.length > 0) tell({ feeds, parts: [batch.part] })
  }
  /** News that are lost cost time and nothing else: workers look by themselves. */
  function tell(news: Parameters<typeof printNews>[0]): void {
    db.query(notify, { news: printNews(news) }).catch(() => {})
  }
  /** Answers whether there may be more. */
  async function lookSoon(part: number): Promise<boolean> {
    const now = clock.now()
    if (isDistributed()) return carry(db, part, { now, numbered, patience: shortLockTimeout })
    const looking = step(look, { part, now, most: entriesAtMost })
    const [, rows] = await poolOf(db, part).together([step(setLockTimeout, shortLockTimeout), looking])
    if (rows.length > 0) numbered(numberedBy(part, rows))
    return rows.length === entriesAtMost
  }
  return {
    get isLocal() {
      return localWorker !== undefined
    },
    published(parts) {
      if (localWorker) localWorker.published(parts)
      else tellOthers(parts)
    },
    numbered,
    async number(part) {
      try {
        while (await lookSoon(part));
      } catch (error) {
        if (!isBlocked(error)) throw error
      }
    },
    serve(worker) {
      localWorker = worker
    },
  }
}

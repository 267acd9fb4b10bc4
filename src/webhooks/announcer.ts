/**
 * Says that something was published, outside the transaction that did it: to the worker of this process, or, where there is none, to
 * those of others, once for many. Who is not reached finds it by a look of its own.
 */
import type { Database } from '../database/database.ts'
import { wakeDispatchers, wakeWorkers } from './dispatch.sql.ts'
import { type News, printNews } from './dispatch.ts'
import type { ShortCut } from './short-cut.ts'
import type { Worker } from './worker.ts'

const quietMs = 5

export interface Announcer {
  /** Something was dispatched here, by nobody's worker. */
  dispatched(news: News): void
  published(parts: ReadonlySet<number>): void
  /** The short cut of this process's worker, if there is one. */
  readonly shortCut: ShortCut | undefined
  /** From now on this worker is told. */
  serve(worker: Worker): void
}

export function openAnnouncer(db: Database): Announcer {
  let served: Worker | undefined
  let isPlanned = false
  function tellOthers(): void {
    if (isPlanned) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      db.query(wakeDispatchers).catch(() => {})
    }, quietMs).unref()
  }
  return {
    dispatched(news) {
      db.query(wakeWorkers, [printNews(news)]).catch(() => {})
    },
    get shortCut() {
      return served?.shortCut
    },
    published(parts) {
      if (parts.size === 0) return
      if (!served) return tellOthers()
      for (const part of parts) served.published(part)
    },
    serve(worker) {
      served = worker
    },
  }
}

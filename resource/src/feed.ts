/**
 * Keeps one stream of revocations open. What ends it may have taken changes with it: everything is forgotten,
 * and the next one is opened, soon at first and later less often.
 */
import type { Clock } from './clock.ts'
import { type FeedAddress, openStream } from './feed-stream.ts'
import type { Hearing } from './hearing.ts'

export interface FeedListener {
  /** From here on every change is told. */
  opened(): void
  changed(tags: readonly string[]): void
  ended(why: string): void
}

/** A stream that says nothing for so long is given up; long before, nothing from memory is used. */
const silenceAtMostMs = 10_000
/** The clocks of two machines go apart: so long, a tenth of a second and more. */
const ageAtMostMs = 30 * 60_000
const shortestWaitMs = 250
const longestWaitMs = 5_000
const lookEveryMs = 1_000

export function openFeed(
  address: FeedAddress,
  hearing: Hearing,
  clock: Clock,
  listener: FeedListener,
): { close(): void } {
  let isClosed = false
  let failures = 0
  let next: NodeJS.Timeout | undefined
  let end: (why: string) => void = () => {}

  function open(): void {
    const startedAtMs = clock.monotonicMs()
    let connectedAtMs = startedAtMs
    let isOpen = false
    let liveAtMs = startedAtMs
    const watch = setInterval(() => {
      const nowMs = clock.monotonicMs()
      if (hearing.isLive) liveAtMs = nowMs
      if (nowMs - liveAtMs > silenceAtMostMs) end('It was silent for too long.')
      else if (nowMs - startedAtMs > ageAtMostMs) end('It is opened anew every half an hour.')
    }, lookEveryMs)
    watch.unref()
    end = openStream(address, {
      connected() {
        connectedAtMs = clock.monotonicMs()
      },
      told(event, data) {
        if (event === 'open') hearing.opened(data, connectedAtMs)
        else if (event === 'beat') {
          hearing.beat(Number(data))
          if (!isOpen && hearing.isLive) {
            isOpen = true
            failures = 0
            listener.opened()
          }
        } else if (event === 'changed') {
          const tags = data.split(' ')
          hearing.changed(tags)
          listener.changed(tags)
        }
      },
      ended(why) {
        clearInterval(watch)
        hearing.ended()
        listener.ended(why)
        if (!isClosed) openLater()
      },
    })
  }
  function openLater(): void {
    const waitMs = Math.min(longestWaitMs, shortestWaitMs * 2 ** failures++)
    // Listeners that were cut off together do not come back together.
    next = setTimeout(open, waitMs * (0.5 + Math.random() / 2))
    next.unref()
  }
  open()
  return {
    close() {
      isClosed = true
      clearTimeout(next)
      end('It was closed here.')
    },
  }
}

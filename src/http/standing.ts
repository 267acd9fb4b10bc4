/**
 * An answer that goes on holds as long as whoever asked for it would be let in again. They are judged anew
 * when something that they depend on is announced, when their time may be over, and each second while no
 * announcement can be heard.
 */
import { type Clock, second } from '../clock.ts'
import { openRerun } from '../concurrency/rerun.ts'
import { type Changes, everything } from '../database/changes.ts'

export interface Standing {
  /** The rows it depends on, as their changes are announced. */
  readonly tags: readonly string[]
  /** Before this nothing but a change ends it. */
  readonly soundUntilMs: number
}

/** Judged each second: its end moves with its use. */
export const alwaysInDoubt = 0

/** Undefined, or an error, when they would be refused. */
export type Judge = () => Promise<Standing | undefined>

interface StandingDesk {
  readonly changes: Changes
  readonly clock: Clock
  /** Aborted when the gateway begins to close. */
  readonly closing: AbortSignal
}

interface StandingWatch {
  /** Aborted when the answer must end. */
  readonly over: AbortSignal
  /** Whether it must end because they would be refused. */
  isRefused(): boolean
  close(): void
}

const lookEveryMs = second

export function watchStanding({ changes, clock, closing }: StandingDesk, judge: Judge): StandingWatch {
  const over = new AbortController()
  let standing: Standing | undefined
  let isOpen = true
  let isRefused = false
  let timer: NodeJS.Timeout | undefined

  const close = () => {
    isOpen = false
    clearTimeout(timer)
    forget()
    closing.removeEventListener('abort', end)
  }
  const end = () => {
    close()
    over.abort()
  }
  /** One judgement at a time; a doubt while it runs makes it run once more. */
  const judging = openRerun(async () => {
    if (!isOpen) return
    standing = await judge().catch(() => undefined)
    if (!standing && isOpen) {
      isRefused = true
      end()
    }
    lookLater()
  }, end)
  const doubt = () => judging.call()
  function look(): void {
    const isDue = standing !== undefined && clock.now().getTime() >= standing.soundUntilMs
    if (isDue || !changes.isLive) doubt()
    else lookLater()
  }
  function lookLater(): void {
    clearTimeout(timer)
    if (!isOpen) return
    const leftMs = (standing?.soundUntilMs ?? 0) - clock.now().getTime()
    timer = setTimeout(look, leftMs > 0 ? Math.min(leftMs, lookEveryMs) : lookEveryMs)
  }
  const forget = changes.subscribe((tag) => {
    if (tag === everything || !standing || standing.tags.includes(tag)) doubt()
  })
  closing.addEventListener('abort', end)
  if (closing.aborted) end()
  // Whatever happened since they were let in was announced before anybody listened here.
  else doubt()
  return { over: over.signal, isRefused: () => isRefused, close }
}

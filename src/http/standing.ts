/**
 * An answer that goes on lasts as long as its caller would be let in again. The caller is judged anew when
 * something that it depends on is announced, when its time may be over, and each second while no announcement
 * can be heard.
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
export type StandingCheck = () => Promise<Standing | undefined>

interface StandingDependencies {
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

export function watchStanding(
  { changes, clock, closing }: StandingDependencies,
  judge: StandingCheck,
): StandingWatch {
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
  // Changes since the caller was let in may have been announced before this listened.
  else doubt()
  return { over: over.signal, isRefused: () => isRefused, close }
}

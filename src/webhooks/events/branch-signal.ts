/**
 * Wakes the followers of one branch's log, and no others. A follower says what it has seen before it looks:
 * what happens between its look and its wait is not missed, because the count has moved on by then.
 */

import type { Branch } from './branch.ts'
import { awaitedForMs } from './signal.ts'

export function branchKey({ branchId, environment }: Branch): string {
  return `${environment}:${branchId}`
}

export interface BranchSignal {
  /** Undefined: it may have been any branch. */
  fire(branches: readonly string[] | undefined): void
  /** A follower waits, or did until a moment ago. */
  isAwaited(): boolean
  /** To be asked for before looking. */
  seen(branch: Branch): number
  /** Until something may have happened since then, or for a while. */
  wait(branch: Branch, since: number, atMostMs: number, until?: AbortSignal): Promise<void>
}

export function openBranchSignal(): BranchSignal {
  const waiting = new Map<string, Set<() => void>>()
  const counts = new Map<string, number>()
  /** What concerned every branch. */
  let all = 0
  let lastMs = Number.NEGATIVE_INFINITY
  const countOf = (key: string) => all + (counts.get(key) ?? 0)

  function wake(key: string): void {
    for (const each of waiting.get(key) ?? []) each()
  }

  return {
    isAwaited: () => waiting.size > 0 || performance.now() - lastMs < awaitedForMs,
    fire(branches) {
      if (branches === undefined) all++
      // Only branches with followers are counted: a branch without any has no count that a follower could
      // have seen.
      const keys = branches ?? [...waiting.keys()]
      for (const key of keys) {
        const count = counts.get(key)
        if (branches !== undefined && count !== undefined) counts.set(key, count + 1)
        wake(key)
      }
    },
    seen(branch) {
      lastMs = performance.now()
      const key = branchKey(branch)
      if (!counts.has(key)) counts.set(key, 0)
      return countOf(key)
    },
    wait(branch, since, atMostMs, until) {
      const key = branchKey(branch)
      if (until?.aborted || countOf(key) !== since) return Promise.resolve()
      return new Promise((done) => {
        const sleepers = waiting.get(key) ?? new Set()
        waiting.set(key, sleepers)
        const end = () => {
          clearTimeout(timer)
          sleepers.delete(end)
          if (sleepers.size === 0) waiting.delete(key)
          until?.removeEventListener('abort', end)
          done()
        }
        const timer = setTimeout(end, atMostMs)
        sleepers.add(end)
        until?.addEventListener('abort', end)
      })
    },
  }
}

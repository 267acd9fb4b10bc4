/**
 * Looks for what must never be. It is found, counted and told: an alert says that it happened. Nothing is
 * mended: what could break by itself has no state of its own any more.
 */
import type { Logger } from 'pino'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { type BrokenPromise, findBroken, type PromiseName, printBroken } from './invariants.ts'

interface SweeperDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  /** Absent when metrics are off. */
  readonly metrics: { swept(broken: readonly BrokenPromise[]): void } | undefined
}

interface Sweeper {
  sweep(): Promise<readonly BrokenPromise[]>
}

/** What is so for a moment, because workers come and go and clocks differ: only what stays so is broken. */
const passing: ReadonlySet<PromiseName> = new Set(['holder', 'sleep', 'log'])

export function openSweeper({ db, clock, log, metrics }: SweeperDependencies): Sweeper {
  let seen: ReadonlySet<string> = new Set()

  async function findLasting(): Promise<readonly BrokenPromise[]> {
    const found = await findBroken(db, clock.now())
    const before = seen
    seen = new Set(found.map(printBroken))
    return found.filter((each) => !passing.has(each.promise) || before.has(printBroken(each)))
  }

  return {
    async sweep() {
      const broken = await findLasting()
      metrics?.swept(broken)
      for (const { promise, subject } of broken)
        log.error(
          { promise, subject },
          `a promise of the delivery engine was broken: ${printBroken({ promise, subject })}`,
        )
      return broken
    },
  }
}

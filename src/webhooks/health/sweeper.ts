/**
 * Looks for what must never be. It is found, counted and told: an alert says that it happened. Nothing is
 * mended: what could break by itself has no state of its own any more.
 */
import type { Logger } from 'pino'
import type { Clock } from '../../clock.ts'
import type { Sql } from '../../database/database.ts'
import { type Broken, findBroken, type Promised, printBroken } from './invariants.ts'

interface SweeperDesk {
  readonly db: Sql
  readonly clock: Clock
  readonly log: Logger
  /** Absent when nobody asks. */
  readonly metrics: { swept(broken: readonly Broken[]): void } | undefined
}

interface Sweeper {
  sweep(): Promise<readonly Broken[]>
}

/** What is so for a moment, because workers come and go and clocks differ: only what stays so is broken. */
const passing: ReadonlySet<Promised> = new Set(['holder', 'sleep', 'log'])

export function openSweeper({ db, clock, log, metrics }: SweeperDesk): Sweeper {
  let seen: ReadonlySet<string> = new Set()

  async function findLasting(): Promise<readonly Broken[]> {
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

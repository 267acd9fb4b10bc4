/**
 * A peer's side of the talk with the benchmark: it tells where it listens, does what it is asked, and ends
 * with it.
 */
import type { Request } from '../server-process.ts'

export function announce(origin: string, perform?: (request: Request) => Promise<unknown>): void {
  process.on('disconnect', () => process.exit())
  process.on('message', async (request: Request) => process.send?.((await perform?.(request)) ?? null))
  process.send?.(origin)
}

/** A peer's side of the talk with the benchmark: it tells where it listens, makes things, and ends with it. */
import type { MakeRequest } from '../server-process.ts'

export function announce(origin: string, make?: (request: MakeRequest) => Promise<string[]>): void {
  process.on('disconnect', () => process.exit())
  process.on('message', async (request: MakeRequest) => process.send?.(await make?.(request)))
  process.send?.(origin)
}

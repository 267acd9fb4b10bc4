/** A benchmark sets the gateway beside others that do the same work, on the same load. */
import type { Load } from './load.ts'
import type { Stage } from './stage.ts'

export interface Benchmark {
  /** As it is named on the command line and in the results. */
  readonly name: string
  readonly unit: string
  /** Starts every server and prepares what the requests need; the stage closes it all again. */
  open(stage: Stage): Promise<Contest>
}

export interface Contest {
  readonly ours: Load
  readonly peers: readonly Peer[]
}

export interface Peer {
  readonly against: string
  /** How many times the peer's rate ours should be, at least. */
  readonly goal: number
  readonly load: Load
}

/** A benchmark starts what it needs on the stage and answers with figures. Most of them are races. */
import type { Result } from './report.ts'
import { compare, type Side } from './rounds.ts'
import type { Stage } from './stage.ts'

export interface Benchmark {
  /** As it is named on the command line and in the results. */
  readonly name: string
  run(stage: Stage): Promise<Result[]>
}

/** The gateway beside others that do the same work, measured in turns. */
export interface Race {
  readonly name: string
  readonly unit: string
  /** Starts every server and prepares what the work needs. */
  open(stage: Stage): Promise<Contest>
}

export interface Contest {
  readonly ours: Side
  readonly peers: readonly Peer[]
}

export interface Peer {
  readonly against: string
  /** How many times the peer's rate ours should be, at least. */
  readonly goal: number
  readonly side: Side
}

export function race({ name, unit, open }: Race): Benchmark {
  return {
    name,
    async run(stage) {
      const { ours, peers } = await open(stage)
      const comparisons = await compare(
        ours,
        peers.map((peer) => peer.side),
      )
      return peers.map(({ against, goal }, index) => ({ name, against, goal, unit, ...comparisons[index]! }))
    },
  }
}

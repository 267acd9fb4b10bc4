/** A benchmark starts what it needs on the stage and answers with figures. Most of them are races. */
import { failure, type Result, type Row } from './report.ts'
import { type Comparison, compare, median, type Side } from './rounds.ts'
import { here, type Source } from './source.ts'
import type { Stage } from './stage.ts'

export interface Benchmark {
  /** As it is named on the command line and in the results. */
  readonly name: string
  run(stage: Stage, options: Options): Promise<Row[]>
  /** What of it can be measured of any commit's gateway: for `--against`. */
  readonly openCourse?: OpenCourse
}

export interface Options {
  /**
   * How many rows are there before anything is measured, where the benchmark is about that. As many as its
   * goal speaks of, if not said.
   */
  readonly rows: number | undefined
}

/** Prepares the gateway of a source and answers how one round of it is measured. */
export type OpenCourse = (stage: Stage, source: Source) => Promise<Course>

export interface Course {
  measure(): Promise<readonly Figure[]>
}

export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** Less is better. */
  readonly isCost?: boolean
}

/** What a change to a hot path may cost. */
const lossAtMost = 0.05
const rounds = 5

/** The gateway of this tree beside that of another commit, in turns. */
export async function runAgainst(stage: Stage, openCourse: OpenCourse, other: Source): Promise<Result[]> {
  const courses = [await openCourse(stage, here), await openCourse(stage, other)]
  const measured: (readonly Figure[])[][] = []
  for (let round = 0; round <= rounds; round++) {
    const each: (readonly Figure[])[] = []
    // Who goes first pays for what the other left behind: they take turns in that too.
    const order = round % 2 === 0 ? [0, 1] : [1, 0]
    for (const place of order) each[place] = await courses[place]!.measure()
    measured.push(each)
  }
  // The first round warms up.
  measured.shift()
  return measured[0]![0]!.map((figure, index) =>
    judge(
      figure,
      other,
      measured.map(([ours, theirs]) => [ours![index]!.value, theirs![index]!.value]),
    ),
  )
}

function judge(
  { name, unit, isCost = false }: Figure,
  { name: against }: Source,
  pairs: readonly (readonly [number, number])[],
): Result {
  return {
    name,
    against,
    ratio: median(pairs.map(([ours, theirs]) => ours / theirs)),
    goal: isCost ? 1 + lossAtMost : 1 - lossAtMost,
    atMost: isCost,
    ours: median(pairs.map(([ours]) => ours)),
    theirs: median(pairs.map(([, theirs]) => theirs)),
    unit,
  }
}

/** The gateway beside others that do the same work, measured in turns. */
export interface Race {
  readonly name: string
  readonly unit: string
  /** Starts the gateway and prepares what the work needs. */
  open(stage: Stage, source: Source): Promise<Contest>
}

export interface Contest {
  readonly ours: Side
  /** Starts those that stand beside it. */
  openPeers(): Promise<readonly Peer[]>
}

export interface Peer {
  readonly against: string
  /** How many times the peer's rate ours should be, at least. */
  readonly goal: number
  readonly side: Side
}

export function toRow(
  about: Pick<Result, 'name' | 'against' | 'goal' | 'unit'>,
  compared: Comparison | Error,
): Row {
  return compared instanceof Error ? failure(compared, about.name, about.against) : { ...about, ...compared }
}

export function race({ name, unit, open }: Race): Benchmark {
  return {
    name,
    async run(stage) {
      const { ours, openPeers } = await open(stage, here)
      const peers = await openPeers()
      const comparisons = await compare(
        ours,
        peers.map((peer) => peer.side),
      )
      return peers.map(({ against, goal }, index) =>
        toRow({ name, against, goal, unit }, comparisons[index]!),
      )
    },
    async openCourse(stage, source) {
      const { ours } = await open(stage, source)
      return { measure: async () => [{ name, value: await ours.measure(), unit }] }
    },
  }
}

/** What is simulated: the load, and the machines it meets. */
export interface Scenario {
  readonly load: Load
  /** Webhooks a branch: how many deliveries an event becomes. */
  readonly webhooks: number
  readonly branches: number
  /** Each answers and delivers. */
  readonly nodes: number
  /** PostgreSQL servers, each with its own branches and nodes. */
  readonly shards: number
  /** Of each PostgreSQL: sixteen in the code. */
  readonly parts: number
  /** A node tells others at most so often of what is new in their lanes; 0 in the code: at once, and of each transaction by itself. */
  readonly tellEveryMs: number
  readonly seconds: number
  readonly seed: number
  readonly machine: Machine
}

export interface Load {
  readonly eventsPerSecond: number
  /** In one request. */
  readonly eventsAtOnce: number
  /** Requests come at these distances, all that are due together; without it, at random. */
  readonly tickMs?: number
  /** Nothing is published after so many. */
  readonly most?: number
}

export interface Machine {
  /** For everything together, with the load generator and the receiver; otherwise nodes and PostgreSQL have their own. */
  readonly sharedCores?: number
  readonly postgresCores: number
  /** From a node to PostgreSQL and back. */
  readonly roundTripUs: number
  /** Until a commit is on disk, with whatever standby has to say so; as measured, if not given. */
  readonly commitUs?: number
  readonly logMegabytesPerSecond: number
  /** Until a receiver has answered. */
  readonly receiverMs: number
}

export const partsOfCode = 16

export const dataCentre: Machine = {
  postgresCores: 8,
  roundTripUs: 200,
  commitUs: 1_000,
  logMegabytesPerSecond: 200,
  receiverMs: 50,
}

/** The machine of docs/performance.md. */
export const oneSmallMachine: Machine = {
  sharedCores: 2,
  postgresCores: 2,
  roundTripUs: 0,
  logMegabytesPerSecond: 1_000,
  receiverMs: 0,
}

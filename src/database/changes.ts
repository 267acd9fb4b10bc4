/**
 * Hears every change that the database announces (see `announce` and its triggers in the migrations). Changes
 * by other processes are heard by notification, so that a node's memory is never older than the
 * notification's way; this process hears its own changes on the connection that makes them, before a caller
 * is told that they are done. While the connection that listens is down, or no longer answers, `isLive` is
 * false and nothing remembered may be used.
 */
import type { Database, Listener } from './database.ts'
import { holdsKeys } from './keys.sql.ts'

export interface Changes {
  readonly isLive: boolean
  /**
   * Every change that was acknowledged before then has been heard, by `performance.now()`; long ago while
   * nothing can be heard.
   */
  readonly heardUntilMs: number
  /** `everything` is heard when changes may have been missed. Answers how to hear no more. */
  subscribe(heard: (tag: string) => void): () => void
  /** Called each time `heardUntilMs` has moved. Answers how to hear no more. */
  onBeat(beaten: () => void): () => void
  /** Says of this process, by locks of the connection that hears, what it says when that is opened. */
  declare(): Promise<void>
  close(): Promise<void>
}

export const everything = '*'
/** Announced by the command that rotates them. */
export const keysRotated = 'keys:rotated'
const channel = 'countersign_changes'
const heartbeatMs = 1_000
const silenceLimitMs = 2_500

/** Every pool through which this process changes anything. */
interface Pools {
  readonly db: Database
  readonly streamDb: Database
}

export async function openChanges(
  { db, streamDb }: Pools,
  declareBy: (listener: Listener) => Promise<unknown>,
): Promise<Changes> {
  const subscribers = new Set<(tag: string) => void>()
  const beats = new Set<() => void>()
  /** One tag, or many with commas between. */
  const announce = (tags: string) => {
    for (const tag of tags.split(',')) for (const heard of [...subscribers]) heard(tag)
  }
  let isClosed = false
  let heartbeat: NodeJS.Timeout | undefined
  let listener: Listener | undefined
  let heardUntilMs = Number.NEGATIVE_INFINITY

  const lose = () => {
    const isNew = listener !== undefined && !isClosed
    listener = undefined
    heardUntilMs = Number.NEGATIVE_INFINITY
    if (isNew) announce(everything)
  }
  /** Asks for a sign of life last: the server shows that the connection listens. */
  async function introduce(to: Listener): Promise<void> {
    await declareBy(to)
    await to.ping(silenceLimitMs)
  }
  async function connect(): Promise<void> {
    const askedAtMs = performance.now()
    const opened = await db.listen(channel, announce, lose, holdsKeys)
    await introduce(opened).catch(async (error: unknown) => {
      await opened.close().catch(() => {})
      throw error
    })
    listener = opened
    heardUntilMs = askedAtMs
  }
  /** Changes announced in between were not heard by this process. */
  async function connectAgain(): Promise<void> {
    await connect()
    announce(everything)
  }
  /** The server tells what was committed before the question before it answers it: the answer's way adds nothing. */
  async function beat(): Promise<void> {
    const askedAtMs = performance.now()
    try {
      if (listener) await listener.ping(silenceLimitMs)
      else await connectAgain()
      if (listener) heardUntilMs = askedAtMs
      for (const beaten of [...beats]) beaten()
    } catch {
      lose()
    }
    if (!isClosed) beatLater(askedAtMs + heartbeatMs - performance.now())
  }
  function beatLater(ms: number): void {
    heartbeat = setTimeout(beat, Math.max(0, ms))
    heartbeat.unref()
  }
  await connect()
  for (const pool of [db, streamDb]) pool.onChange(announce)
  beatLater(heartbeatMs)

  return {
    get isLive() {
      return performance.now() - heardUntilMs < silenceLimitMs
    },
    get heardUntilMs() {
      return heardUntilMs
    },
    subscribe(heard) {
      subscribers.add(heard)
      return () => subscribers.delete(heard)
    },
    onBeat(beaten) {
      beats.add(beaten)
      return () => beats.delete(beaten)
    },
    async declare() {
      if (listener) await introduce(listener)
    },
    async close() {
      isClosed = true
      clearTimeout(heartbeat)
      await listener?.close()
    },
  }
}

/**
 * Hears every change that the database announces (see `announce` and its triggers in the migrations). Changes
 * by other processes are heard by notification, so that a node's memory is never older than the
 * notification's way; this process hears its own changes on the connection that makes them, before a caller
 * is told that they are done. While the connection that listens is down, or no longer answers, `isLive` is
 * false and nothing remembered may be used.
 */
import type { Database, Listener } from './database.ts'

export interface Changes {
  readonly isLive: boolean
  /** `everything` is heard when changes may have been missed. Answers how to hear no more. */
  subscribe(heard: (tag: string) => void): () => void
  close(): Promise<void>
}

export const everything = '*'
const channel = 'countersign_changes'
const heartbeatMs = 1_000
const silenceLimitMs = 2_500

/** Every pool through which this process changes anything. */
interface Pools {
  readonly db: Database
  readonly streamDb: Database
}

export async function openChanges({ db, streamDb }: Pools): Promise<Changes> {
  const subscribers = new Set<(tag: string) => void>()
  /** One tag, or many with commas between. */
  const announce = (tags: string) => {
    for (const tag of tags.split(',')) for (const heard of [...subscribers]) heard(tag)
  }
  let isClosed = false
  let heartbeat: NodeJS.Timeout | undefined
  let listener: Listener | undefined
  let answeredAt = 0

  const lose = () => {
    listener = undefined
    answeredAt = 0
    announce(everything)
  }
  async function connect(): Promise<void> {
    listener = await db.listen(channel, announce, lose)
    answeredAt = performance.now()
  }
  /** Changes announced in between were not heard by this process. */
  async function connectAgain(): Promise<void> {
    await connect()
    announce(everything)
  }
  async function beat(): Promise<void> {
    try {
      if (listener) await listener.ping(silenceLimitMs)
      else await connectAgain()
      answeredAt = performance.now()
    } catch {
      lose()
    }
    if (!isClosed) beatLater()
  }
  function beatLater(): void {
    heartbeat = setTimeout(beat, heartbeatMs)
    heartbeat.unref()
  }
  await connect()
  for (const pool of [db, streamDb]) pool.onChange(announce)
  beatLater()

  return {
    get isLive() {
      return performance.now() - answeredAt < silenceLimitMs && listener !== undefined
    },
    subscribe(heard) {
      subscribers.add(heard)
      return () => subscribers.delete(heard)
    },
    async close() {
      isClosed = true
      clearTimeout(heartbeat)
      await listener?.close()
    },
  }
}

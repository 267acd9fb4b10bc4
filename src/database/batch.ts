/**
 * Lets requests that arrive together share one statement and one commit (group commit). An idle batch sends a
 * lone item at once; while a statement is under way, newcomers gather and leave with the next one: the fuller
 * the statement, the less an item costs. Two items with the same key never share a statement, so "one
 * statement, one winner" holds inside a batch as it does between nodes.
 */
import { DatabaseBusy } from './database.ts'

export interface Batch<Item, Result> {
  run(item: Item): Promise<Result>
}

interface BatchOptions<Item> {
  readonly keyOf: (item: Item) => string
  /** How much of `maxItems` an item takes up; 1 unless given. A lone item may be larger. */
  readonly sizeOf?: (item: Item) => number
  readonly maxItems?: number
  readonly maxInFlight?: number
  /** Less than this waits for the statement that is under way; 0 unless given. */
  readonly waitsBelow?: number
  /** More than this is turned away: the caller that came last would wait too long. */
  readonly maxWaiting?: number
}

interface PendingItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export function openBatch<Item, Result>(
  /** Answers in the order of the items. */
  execute: (items: Item[]) => Promise<Result[]>,
  {
    keyOf,
    sizeOf = () => 1,
    maxItems = 64,
    maxInFlight = 1,
    waitsBelow = 0,
    maxWaiting = 5_000,
  }: BatchOptions<Item>,
): Batch<Item, Result> {
  let queue: PendingItem<Item, Result>[] = []
  let waitingSize = 0
  let inFlight = 0
  let scheduled = false

  function schedule(): void {
    if (scheduled || inFlight >= maxInFlight || queue.length === 0) return
    if (inFlight > 0 && waitingSize < waitsBelow) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      void flush()
    })
  }

  /** Whatever comes of it is told to those who wait. */
  async function flush(): Promise<void> {
    const taken = takeDistinct()
    inFlight++
    schedule()
    try {
      const results = await execute(taken.map((waiting) => waiting.item))
      for (const [index, waiting] of taken.entries()) waiting.resolve(results[index]!)
    } catch (error) {
      for (const waiting of taken) waiting.reject(error)
    } finally {
      inFlight--
      schedule()
    }
  }

  function takeDistinct(): PendingItem<Item, Result>[] {
    const keys = new Set<string>()
    const taken: PendingItem<Item, Result>[] = []
    const left: PendingItem<Item, Result>[] = []
    let room = maxItems
    for (const waiting of queue) {
      const key = keyOf(waiting.item)
      const size = sizeOf(waiting.item)
      if ((size <= room || taken.length === 0) && !keys.has(key)) {
        taken.push(waiting)
        room -= size
        waitingSize -= size
      } else left.push(waiting)
      keys.add(key)
    }
    queue = left
    return taken
  }

  return {
    run: (item) =>
      new Promise((resolve, reject) => {
        if (waitingSize >= maxWaiting) throw DatabaseBusy.now
        waitingSize += sizeOf(item)
        queue.push({ item, resolve, reject })
        schedule()
      }),
  }
}

/** Look-ups that are asked for in the same moment are made together (a data loader). */
export function openGathering<Key, Value>(
  /** Answers how to find what belongs to each of them. */
  load: (keys: readonly Key[]) => Promise<(key: Key) => Value>,
  keysAtMost = 500,
): (key: Key) => Promise<Value> {
  let waiting: Map<Key, PromiseWithResolvers<Value>> | undefined
  async function loadAll(batch: ReadonlyMap<Key, PromiseWithResolvers<Value>>): Promise<void> {
    try {
      const find = await load([...batch.keys()])
      for (const [key, { resolve }] of batch) resolve(find(key))
    } catch (error) {
      for (const { reject } of batch.values()) reject(error)
    }
  }
  return (key) => {
    if (!waiting) {
      const begun = new Map<Key, PromiseWithResolvers<Value>>()
      waiting = begun
      setImmediate(() => {
        if (waiting === begun) waiting = undefined
        void loadAll(begun)
      })
    }
    const pending = waiting.get(key) ?? Promise.withResolvers<Value>()
    waiting.set(key, pending)
    if (waiting.size >= keysAtMost) waiting = undefined
    return pending.promise
  }
}

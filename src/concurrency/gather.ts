/** Look-ups that are asked for in the same moment are made together (a data loader). */
export function openGathering<Key, Value>(
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
  keysAtMost = 500,
): (key: Key) => Promise<Value | undefined> {
  let waiting: Map<Key, PromiseWithResolvers<Value | undefined>> | undefined
  async function loadAll(batch: ReadonlyMap<Key, PromiseWithResolvers<Value | undefined>>): Promise<void> {
    try {
      const found = await load([...batch.keys()])
      for (const [key, { resolve }] of batch) resolve(found.get(key))
    } catch (error) {
      for (const { reject } of batch.values()) reject(error)
    }
  }
  return (key) => {
    if (!waiting) {
      const begun = new Map<Key, PromiseWithResolvers<Value | undefined>>()
      waiting = begun
      setImmediate(() => {
        if (waiting === begun) waiting = undefined
        void loadAll(begun)
      })
    }
    const pending = waiting.get(key) ?? Promise.withResolvers<Value | undefined>()
    waiting.set(key, pending)
    if (waiting.size >= keysAtMost) waiting = undefined
    return pending.promise
  }
}

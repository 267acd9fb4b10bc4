/**
 * A page that changes by itself asks again and again. What is costly to know is asked no oftener than a
 * twentieth of the time allows, and what was known before is shown until then.
 */
export function held<Value>(ask: () => Promise<Value>, leastMs: number): () => Promise<Value> {
  let known: { readonly value: Value; readonly untilMs: number } | undefined
  return async () => {
    const startedMs = performance.now()
    if (known && startedMs < known.untilMs) return known.value
    const value = await ask()
    const endedMs = performance.now()
    known = { value, untilMs: endedMs + Math.max(leastMs, 20 * (endedMs - startedMs)) }
    return value
  }
}

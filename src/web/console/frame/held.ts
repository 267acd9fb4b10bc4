/**
 * A page that changes by itself asks again and again. What is costly to know is asked no oftener than a
 * twentieth of the time allows, and what was known before is shown until then. Who asks meanwhile gets the same
 * answer.
 */
export function held<Value>(ask: () => Promise<Value>, leastMs: number): () => Promise<Value> {
  let asking: Promise<Value> | undefined
  let known: { readonly value: Value; readonly untilMs: number } | undefined
  return async () => {
    const startedMs = performance.now()
    if (known && startedMs < known.untilMs) return known.value
    asking ??= ask().finally(() => {
      asking = undefined
    })
    const value = await asking
    const endedMs = performance.now()
    known = { value, untilMs: endedMs + Math.max(leastMs, 20 * (endedMs - startedMs)) }
    return value
  }
}

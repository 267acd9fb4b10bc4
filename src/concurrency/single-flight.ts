/** Callers that ask for the same thing while it is under way share its answer (single flight). */
interface Flights<Words extends readonly unknown[], Value> {
  /** Joins the one that is under way, or begins one with these words. */
  join(...words: Words): Promise<Value>
  /** Answers when those that are under way have ended, however they did. */
  landed(): Promise<void>
}

/** `keyOf` says what is the same; without it everything is. */
export function openFlights<Words extends readonly unknown[], Value>(
  begin: (...words: Words) => Promise<Value>,
  keyOf: (...words: Words) => unknown = () => undefined,
): Flights<Words, Value> {
  const underWay = new Map<unknown, Promise<Value>>()
  return {
    join(...words) {
      const key = keyOf(...words)
      const flight = underWay.get(key) ?? begin(...words).finally(() => underWay.delete(key))
      underWay.set(key, flight)
      return flight
    },
    async landed() {
      await Promise.allSettled(underWay.values())
    },
  }
}

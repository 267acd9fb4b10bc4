import { setTimeout as wait } from 'node:timers/promises'
import { testTimeoutMs } from './timeout.ts'

/**
 * For what nobody announces: asks again until the answer is neither false nor undefined, and says what did
 * not come true.
 */
export async function eventually<Value>(
  what: string,
  look: () => Value | undefined | false | Promise<Value | undefined | false>,
  withinMs = testTimeoutMs,
): Promise<Value> {
  const giveUpAt = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    if (performance.now() > giveUpAt) throw new Error(`Waited ${withinMs} ms in vain for this: ${what}`)
    await wait(10)
  }
}

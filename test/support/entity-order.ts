/** Events of entities that know their place, and what came of it. */
import assert from 'node:assert/strict'
import { minute } from '../../src/clock.ts'
import type { Engine, EventDraft } from './engine.ts'
import type { ReceivedRequest } from './receiver.ts'

export const numbered = (entity: string, place: number): EventDraft => ({
  entity,
  body: JSON.stringify({ entity, place }),
})
export const read = (request: ReceivedRequest) =>
  JSON.parse(request.body) as { entity: string; place: number }

/** A retry repeats a place; an inversion goes back. Places begin with the first, or with any. */
export function findInversions(requests: readonly ReceivedRequest[], isFromFirst = true): string[] {
  const last = new Map<string, number>()
  return requests.flatMap((request) => {
    const { entity, place } = read(request)
    const before = last.get(entity) ?? (isFromFirst ? 0 : place - 1)
    last.set(entity, Math.max(place, before))
    return place < before || place > before + 1 ? [`${request.path} ${entity}: ${place} after ${before}`] : []
  })
}

/** Lets time pass until nothing is unfinished: a minute at a time, in which much falls due together. */
export async function finishAll(engine: Engine, withinMs = 300_000): Promise<void> {
  const giveUpAt = performance.now() + withinMs
  for (;;) {
    await engine.idle()
    const left = await engine.unfinished()
    if (left.waiting + left.blocked === 0) return
    assert.ok(left.waiting > 0, `${left.blocked} deliveries are blocked behind nothing`)
    assert.ok(performance.now() < giveUpAt, `unfinished after ${withinMs} ms: ${JSON.stringify(left)}`)
    await engine.advanceToNextLook(minute)
  }
}

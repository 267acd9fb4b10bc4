/**
 * A client may sign with a key, or show a certificate, that came to its address a moment ago: the worker is
 * asked to look there, and the client is found anew each time that it has, for two seconds at most. No more of
 * a partner's requests wait for it than may wait for other things.
 */
import { Bell } from '../../concurrency/bell.ts'
import type { Context } from '../../context.ts'
import { everything } from '../../database/changes.ts'
import type { Registration } from '../../partners/client.ts'
import { wantKeys } from '../../partners/key-sets.ts'
import { branchKey } from '../../webhooks/events/branch-signal.ts'

const mostMs = 2_000

/** Undefined when its keys are not at an address, or no such key comes. */
export async function findRotated(
  { db, changes, clients, clock, waits }: Context,
  { id, branchId, environment, jwksUri }: Registration,
  isIt: (client: Registration) => boolean,
): Promise<Registration | undefined> {
  if (jwksUri === null) return undefined
  const leave = await waits.take(branchKey({ branchId, environment }))
  const bell = new Bell()
  const unsubscribe = changes.subscribe((tag) => {
    if (tag === `client:${id}` || tag === everything) bell.ring()
  })
  let isLate = leave === undefined
  const timer = setTimeout(() => {
    isLate = true
    bell.ring()
  }, mostMs)
  try {
    for (;;) {
      const { rung } = bell
      const isComing = await wantKeys(db, id, clock.now())
      const client = await clients.findAnew(id)
      if (client && isIt(client)) return client
      if (!isComing || isLate) return undefined
      await rung
    }
  } finally {
    clearTimeout(timer)
    unsubscribe()
    leave?.()
  }
}

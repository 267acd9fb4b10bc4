/** What events carry, read once for all webhooks that want it, and kept for a while. */
import { BoundedMap } from '../bounded-map.ts'
import type { Sql } from '../database/database.ts'
import { dayOfId } from './days.ts'
import type { DueEvent } from './lane.ts'
import { selectBodies } from './lanes.sql.ts'

/** Of small events some ten thousand: those that many webhooks are being sent at the same time. */
const keptBytes = 8 * 1024 * 1024

export interface EventBodies {
  /** Somebody has it at hand. */
  keep(event: DueEvent): void
  find(sql: Sql, ids: readonly number[]): Promise<ReadonlyMap<number, DueEvent>>
}

export function openEventBodies(mostBytes = keptBytes): EventBodies {
  const known = new BoundedMap<number, DueEvent>(mostBytes)
  return {
    keep(event) {
      if (!known.has(event.id)) known.set(event.id, event)
    },
    async find(sql, ids) {
      const found = new Map<number, DueEvent>()
      const missing: number[] = []
      for (const id of new Set(ids)) {
        const event = known.get(id)
        if (event) found.set(id, event)
        else missing.push(id)
      }
      for (const [day, together] of Map.groupBy(missing, dayOfId)) {
        for (const event of await sql.query<DueEvent>(selectBodies(day), [together])) {
          found.set(event.id, event)
          known.set(event.id, event)
        }
      }
      return found
    },
  }
}

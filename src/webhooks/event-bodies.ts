/** What events carry, read once for all webhooks that want it, and kept for a while: bounded by its size. */
import type { Sql } from '../database/database.ts'
import { dayOfId } from './days.ts'
import type { DueEvent } from './lane.ts'
import { selectBodies } from './lanes.sql.ts'

const keptCharacters = 16 * 1024 * 1024

export interface EventBodies {
  /** Somebody has it at hand. */
  keep(event: DueEvent): void
  find(sql: Sql, ids: readonly number[]): Promise<ReadonlyMap<number, DueEvent>>
}

export function openEventBodies(): EventBodies {
  /** In the order they were read: the oldest make room. */
  const known = new Map<number, DueEvent>()
  let characters = 0

  function keep(event: DueEvent): void {
    if (known.has(event.id)) return
    known.set(event.id, event)
    characters += event.body.length
    for (const [id, { body }] of known) {
      if (characters <= keptCharacters) return
      known.delete(id)
      characters -= body.length
    }
  }

  return {
    keep,
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
          keep(event)
        }
      }
      return found
    },
  }
}

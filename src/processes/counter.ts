/** In the parent: counts for all processes, and answers what they ask. */
import { openTakenPlaces, type TakenPlaces } from '../http/places.ts'
import { type LocalTally, openTally } from '../http/tally.ts'
import type { LimitCount, SiblingQuestion } from './messages.ts'

export interface Counter {
  /** The answers, and the counts that the other processes are to know. */
  answer(child: number, questions: readonly SiblingQuestion[]): { answers: number[]; counted: LimitCount[] }
  leave(child: number, places: string, key: string): void
  /** The places of a process that is gone are free again. */
  forget(child: number): void
}

interface TakenPlace {
  readonly places: string
  readonly key: string
}

export function openCounter(): Counter {
  const tallies = new Map<string, LocalTally>()
  const rooms = new Map<string, TakenPlaces>()
  const takenBy = new Map<number, TakenPlace[]>()

  function take(child: number, places: string, key: string, most: number): boolean {
    if (!getOrMake(rooms, places, openTakenPlaces).take(key, most)) return false
    getOrMake(takenBy, child, () => []).push({ places, key })
    return true
  }

  return {
    answer(child, questions) {
      const counted: LimitCount[] = []
      const answers = questions.map((question) => {
        if (question.kind === 'take') return Number(take(child, question.places, question.key, question.most))
        const { limit, window, key, allowed, tell } = question
        const used = getOrMake(tallies, limit, openTally).count(window, key, allowed)
        if (tell && used <= allowed) counted.push({ limit, window, key, used })
        return used
      })
      return { answers, counted }
    },
    leave(child, places, key) {
      const taken = takenBy.get(child) ?? []
      const place = taken.findIndex((each) => each.places === places && each.key === key)
      if (place < 0) return
      taken.splice(place, 1)
      rooms.get(places)?.leave(key)
    },
    forget(child) {
      for (const { places, key } of takenBy.get(child) ?? []) rooms.get(places)?.leave(key)
      takenBy.delete(child)
    },
  }
}

function getOrMake<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

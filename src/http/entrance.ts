/**
 * The door of a site. Requests are begun together, once in a turn of the event loop and so many at most; between two turns connections
 * are accepted, bodies arrive, timers fire and the database is heard, however many there are. Left to itself, Node begins every
 * request in the middle of reading it, which costs a third more, and under a flood it reads for seconds without doing anything else.
 *
 * Whoever has waited too long is turned away, which costs a fraction of an answer. A queue that was empty a moment ago is a burst,
 * and worth waiting for; one that has not been empty for a second will not be, and waiting in it only makes every answer late.
 */
export interface Entrance<Guest> {
  enter(guest: Guest): void
}

export interface EntranceOptions<Guest> {
  readonly begin: (guest: Guest) => void
  readonly turnAway: (guest: Guest) => void
  /** In milliseconds, from any moment on. */
  readonly now?: () => number
}

export const begunInTurn = 256
const burstMs = 1_000
export const patienceInBurstMs = 1_000
export const patienceInFloodMs = 150

export function openEntrance<Guest>(options: EntranceOptions<Guest>): Entrance<Guest> {
  const { begin, turnAway, now = () => performance.now() } = options
  let queue: { guest: Guest; since: number }[] = []
  let emptyAt = 0

  function takeTurn(): void {
    const time = now()
    const since = time - (time - emptyAt > burstMs ? patienceInFloodMs : patienceInBurstMs)
    let next = 0
    for (let begun = 0; next < queue.length && begun < begunInTurn; next++) {
      const waiting = queue[next]!
      if (waiting.since < since) turnAway(waiting.guest)
      else {
        begun++
        begin(waiting.guest)
      }
    }
    queue = queue.slice(next)
    if (queue.length > 0) setImmediate(takeTurn)
  }

  return {
    enter(guest) {
      const since = now()
      if (queue.length === 0) {
        emptyAt = since
        setImmediate(takeTurn)
      }
      queue.push({ guest, since })
    },
  }
}

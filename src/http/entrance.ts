/**
 * The door of a site. Requests are begun together, once in a turn of the event loop and so many at most;
 * between two turns connections are accepted, bodies arrive, timers fire and the database is heard, however
 * many there are. Left to itself, Node begins every request in the middle of reading it, which costs a third
 * more, and under a flood it reads for seconds without doing anything else.
 *
 * A request that has waited too long is turned away (load shedding), which costs a fraction of an answer. A
 * queue that was empty a moment ago is a burst, and worth waiting for; one that has not been empty for a
 * second will not be, and waiting in it only makes every answer late. Who came since the last turn has waited
 * for nobody: when the whole process stood still, the time says nothing about a queue.
 */
interface Entrance<Guest> {
  enter(guest: Guest): void
}

interface EntranceOptions<Guest> {
  readonly begin: (guest: Guest) => void
  readonly turnAway: (guest: Guest) => void
  /** In milliseconds, from any moment on. */
  readonly now?: () => number
}

export const begunInTurn = 256
const burstMs = 1_000
export const burstTimeoutMs = 1_000
export const floodTimeoutMs = 150
/**
 * More than any number of connections sends at once; only clients that pipeline without waiting for answers
 * get further.
 */
export const waitingAtMost = 20_000

export function openEntrance<Guest>(options: EntranceOptions<Guest>): Entrance<Guest> {
  const { begin, turnAway, now = () => performance.now() } = options
  let queue: { guest: Guest; since: number }[] = []
  let emptyAt = 0
  let turnAt = 0
  let isTurnPlanned = false

  function planTurn(): void {
    if (isTurnPlanned) return
    isTurnPlanned = true
    setImmediate(takeTurn)
  }

  function takeTurn(): void {
    isTurnPlanned = false
    const time = now()
    const timeoutMs = time - emptyAt > burstMs ? floodTimeoutMs : burstTimeoutMs
    const since = Math.min(time - timeoutMs, turnAt)
    turnAt = time
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
    if (queue.length > 0) planTurn()
  }

  /**
   * The oldest first: on one connection, answers leave in the order of their requests, and only then is
   * anything freed.
   */
  function clear(): void {
    const all = queue
    queue = []
    for (const { guest } of all) turnAway(guest)
  }

  return {
    enter(guest) {
      const since = now()
      if (queue.length >= waitingAtMost) clear()
      if (queue.length === 0) emptyAt = since
      planTurn()
      queue.push({ guest, since })
    },
  }
}

/**
 * Processor time as Linux counts it, in microseconds. Time that a process waits, for a disk or for its turn,
 * is not in it.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** What Linux promises to programs, whatever it counts in itself. */
const usPerTick = 10_000

interface Times {
  readonly parent: number
  readonly ownUs: number
  /** Of children that have ended. */
  readonly endedUs: number
}

/** A process with all its threads. */
export function readProcessUs(pid: number): number {
  return readTimes(`/proc/${pid}/stat`)!.ownUs
}

/** The thread that runs JavaScript: there is one, so that this is what limits a node. */
export function readMainThreadUs(pid: number): number {
  return readTimes(`/proc/${pid}/task/${pid}/stat`)!.ownUs
}

/** A server that makes a process for each connection: all of them, those that have ended too. */
export function readFamilyUs(pid: number): number {
  const { ownUs, endedUs } = readTimes(`/proc/${pid}/stat`)!
  return readChildren(pid).reduce((sum, child) => sum + child.ownUs, ownUs + endedUs)
}

export function readParent(pid: number): number {
  return readTimes(`/proc/${pid}/stat`)!.parent
}

function readChildren(pid: number): Times[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((each) => readTimes(`/proc/${each}/stat`) ?? []).filter(({ parent }) => parent === pid)
}

/**
 * Undefined when the process has just ended. The fields are those of proc(5), counted behind the name, which
 * may hold anything.
 */
function readTimes(path: string): Times | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [parent, user, system, endedUser, endedSystem] = [1, 11, 12, 13, 14].map((place) => fields[place]!)
    return {
      parent: parent!,
      ownUs: (user! + system!) * usPerTick,
      endedUs: (endedUser! + endedSystem!) * usPerTick,
    }
  } catch {
    return undefined
  }
}

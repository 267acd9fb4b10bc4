/**
 * The processes of a node behind one port (a supervisor and its pre-forked workers). Each has its place, and
 * a process that dies is started again in it, after a pause that grows while it dies young. Connections are
 * accepted by the parent and handed round, so that a process that hangs is handed no more.
 */
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { second } from '../clock.ts'
import type { NodeAddresses } from '../vocabulary/environment.ts'
import { rescueConnections } from './handover.ts'
import type { ChildMessage, ParentMessage } from './messages.ts'

const firstPauseMs = 100
const longestPauseMs = 30 * second
/** While no other process serves. */
const longestAloneMs = second
/** A process that has lived so long did not die of its start. */
const provenMs = 10 * second

interface FamilyOptions {
  readonly log: Logger
  readonly processes: number
  /** The program of a child; it is told its place and how many there are. */
  readonly program: string
  readonly stopTimeoutMs: number
  readonly heard: (child: number, message: ChildMessage) => void
  readonly ended: (child: number) => void
}

export interface Family {
  /**
   * Starts all processes; answers when each of them listens. A process that cannot start keeps all of them
   * from starting.
   */
  start(): Promise<NodeAddresses>
  /** To all connected processes, but for one. */
  tell(message: ParentMessage, except?: number): void
  /** False when the process is not connected. */
  say(child: number, message: ParentMessage): boolean
  readonly restarts: number
  /** The processes that live. */
  running(): number[]
  close(): Promise<void>
}

class Place {
  worker: Worker | undefined
  startedMs = 0
  /** How often the process died young. */
  deaths = 0
  restart: NodeJS.Timeout | undefined
  ready = Promise.withResolvers<NodeAddresses>()
  exited = Promise.resolve()
}

export function openFamily(options: FamilyOptions): Family {
  const { log, processes } = options
  const places = Array.from({ length: processes }, () => new Place())
  const numbers = [...places.keys()]
  let isClosing = false
  let restarts = 0
  cluster.schedulingPolicy = cluster.SCHED_RR

  function start(number: number): void {
    const place = places[number]!
    cluster.setupPrimary({ exec: options.program, args: [String(number), String(processes)] })
    const worker = cluster.fork()
    rescueConnections(worker)
    place.worker = worker
    place.startedMs = performance.now()
    worker.on('message', (message: ChildMessage) => hear(number, message))
    // A message to a process that is gone.
    worker.on('error', () => {})
    place.exited = new Promise((done) => {
      worker.once('exit', (code, signal) => {
        end(number, code, signal)
        done()
      })
    })
  }

  function hear(number: number, message: ChildMessage): void {
    const place = places[number]!
    if (message.kind === 'ready') place.ready.resolve(message.addresses)
    else if (message.kind === 'failed') {
      place.ready.reject(new Error(message.message))
      log.error({ process: number, why: message.message }, 'a process could not start')
    } else options.heard(number, message)
  }

  function end(number: number, code: number | null, signal: string | null): void {
    const place = places[number]!
    place.worker = undefined
    options.ended(number)
    place.ready.reject(new Error(`A process ended while it started (${signal ?? code}).`))
    if (isClosing) return
    if (performance.now() - place.startedMs >= provenMs) place.deaths = 0
    const isLast = running().length === 0
    const pauseMs = Math.min(isLast ? longestAloneMs : longestPauseMs, firstPauseMs * 2 ** place.deaths++)
    log.warn({ process: number, code, signal, pauseMs }, 'a process ended; it is started again')
    place.restart = setTimeout(() => {
      restarts++
      start(number)
    }, pauseMs)
  }

  function running(): number[] {
    return numbers.filter((number) => places[number]!.worker !== undefined)
  }

  async function endAll(): Promise<void> {
    isClosing = true
    for (const { restart, worker } of places) {
      clearTimeout(restart)
      worker?.process.kill('SIGTERM')
    }
    const tooLate = new AbortController()
    const deadline = wait(options.stopTimeoutMs, undefined, tooLate).then(killAll, () => {})
    await Promise.all(places.map(({ exited }) => exited))
    tooLate.abort()
    await deadline
  }
  function killAll(): void {
    for (const [number, { worker }] of places.entries()) {
      if (!worker) continue
      log.error({ process: number }, 'a process did not stop in time; it is killed')
      worker.process.kill('SIGKILL')
    }
  }

  function say(number: number, message: ParentMessage): boolean {
    const worker = places[number]?.worker
    if (!worker?.isConnected()) return false
    worker.send(message, () => {})
    return true
  }

  return {
    async start() {
      const ready = Promise.all(places.map((place) => place.ready.promise))
      for (const number of numbers) start(number)
      const [first] = await ready
      if (!first) throw new Error('There is no process to start.')
      return first
    },
    tell(message, except) {
      for (const number of numbers) if (number !== except) say(number, message)
    },
    say,
    get restarts() {
      return restarts
    },
    running,
    close: endAll,
  }
}

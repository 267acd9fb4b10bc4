/**
 * The load generator: so many kept-alive connections, each with one request under way at any time. The same
 * for every server. It writes requests that were printed beforehand and reads no more of an answer than its
 * status and its length, so that the machine's time goes to the server. An answer that is no success fails
 * the benchmark.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Side } from './rounds.ts'

const usualConnections = 64
/** Durable writes need concurrency: requests of one moment share a commit. */
export const durableConnections = 128

/** A whole HTTP/1.1 request, head and body, as it goes over the wire. */
export type PrintedRequest = Buffer

export interface Load {
  readonly origin: string
  readonly connections?: number
  /** The requests of a round of that length, prepared before its time runs. */
  prepareRound(durationMs: number): Promise<Iterator<PrintedRequest>>
  /** What a right answer contains, checked once before anything is measured. */
  readonly expected: string
}

/** The load runs this long before anything counts: what a server puts off shows in the count. */
const leadInMs = 1_000
const countedMs = 1_250
export const roundMs = leadInMs + countedMs

/** Completed requests a second. */
export function underLoad(load: Load): Side {
  let isProbed = false
  return {
    async measure() {
      if (!isProbed) await probe(load)
      isProbed = true
      return measureRate(load)
    },
  }
}

async function measureRate(load: Load): Promise<number> {
  const requests = await load.prepareRound(roundMs)
  const sockets = await Promise.all(
    Array.from({ length: load.connections ?? usualConnections }, () => open(load.origin)),
  )
  const countedFrom = performance.now() + leadInMs
  try {
    const counts = await Promise.all(sockets.map((socket) => sendAndCount(socket, requests, countedFrom)))
    return (counts.reduce((sum, count) => sum + count) * 1000) / countedMs
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

async function open(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  return socket
}

const isSuccess = /^HTTP\/1\.1 20\d /

function sendAndCount(
  socket: Socket,
  requests: Iterator<PrintedRequest>,
  countedFrom: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let completed = 0
    const send = () => {
      const next = requests.next()
      if (next.done) reject(new Error('The requests ran out before the round was over.'))
      else socket.write(next.value)
    }
    hearAnswers(socket, reject, (answer) => {
      if (!isSuccess.test(answer)) return reject(new Error(`The server answered ${answer}`))
      const sinceMs = performance.now() - countedFrom
      if (sinceMs > countedMs) return resolve(completed)
      if (sinceMs > 0) completed++
      send()
    })
    send()
  })
}

/** Answers are told apart by their Content-Length, which every server here sends. */
function hearAnswers(socket: Socket, failed: (error: Error) => void, heard: (answer: string) => void): void {
  let text = ''
  socket.on('error', failed)
  socket.on('close', () => failed(new Error('The server closed a connection.')))
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    const headEnd = text.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
    if (length === undefined) return failed(new Error(`An answer without Content-Length: ${text}`))
    if (text.length < headEnd + 4 + Number(length)) return
    const answer = text
    text = ''
    heard(answer)
  })
}

export interface Wire {
  /** Resolves when the request is answered; waits its turn while every connection is busy. */
  send(request: PrintedRequest): Promise<void>
  close(): void
}

/** Connections that any number of senders share. */
export async function openWire(origin: string, connections: number): Promise<Wire> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(origin)))
  const idle = [...sockets]
  const waiting: { request: PrintedRequest; resolve: () => void; reject: (error: Error) => void }[] = []
  const underWay = new Map<Socket, (typeof waiting)[number]>()
  const sendNext = () => {
    while (idle.length > 0 && waiting.length > 0) {
      const socket = idle.shift()!
      const next = waiting.shift()!
      underWay.set(socket, next)
      socket.write(next.request)
    }
  }
  for (const socket of sockets) {
    const fail = (error: Error) => underWay.get(socket)?.reject(error)
    hearAnswers(socket, fail, (answer) => {
      const asked = underWay.get(socket)
      // A server says goodbye to a connection that nobody has used for long.
      if (!asked) return void idle.splice(idle.indexOf(socket), 1)
      underWay.delete(socket)
      idle.push(socket)
      if (isSuccess.test(answer)) asked.resolve()
      else asked.reject(new Error(`${origin} answered ${answer}`))
      sendNext()
    })
  }
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        waiting.push({ request, resolve, reject })
        sendNext()
      }),
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

export interface ReadAnswer {
  readonly headers: Record<string, string>
  readonly text: string
}

/** One request whose answer is read: a server that answers well with the wrong thing is not measured. */
export async function probe(load: Load): Promise<ReadAnswer> {
  const { value: request } = (await load.prepareRound(0)).next()
  const answer = await send(load.origin, request)
  if (!answer.includes(load.expected)) throw new Error(`${load.origin} answered ${answer}`)
  const [head, text] = answer.split('\r\n\r\n') as [string, string]
  const lines = head.split('\r\n').slice(1)
  return { headers: Object.fromEntries(lines.map((line) => line.split(': ') as [string, string])), text }
}

/** One request on a connection of its own. */
export async function send(origin: string, request: PrintedRequest): Promise<string> {
  const socket = await open(origin)
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      hearAnswers(socket, reject, resolve)
      socket.write(request)
    })
    if (!isSuccess.test(answer)) throw new Error(`${origin} answered ${answer}`)
    return answer
  } finally {
    socket.destroy()
  }
}

export interface FloodLoad extends Load {
  readonly connections: number
  readonly perSecond: number
  readonly durationMs: number
}

export interface Flood {
  readonly statuses: ReadonlyMap<number, number>
  readonly latenciesMs: readonly number[]
  readonly sentPerSecond: number
  /** Requests that found every connection busy: their senders would have given up. */
  readonly unsent: number
}

const floodTickMs = 5

/** So many requests a second, whatever the answers do. Ends when every request that was sent is answered. */
export async function flood({
  origin,
  connections,
  perSecond,
  durationMs,
  prepareRound,
}: FloodLoad): Promise<Flood> {
  const requests = await prepareRound(durationMs)
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(origin)))
  const idle = [...sockets]
  const sentAt = new Map<Socket, number>()
  const statuses = new Map<number, number>()
  const latenciesMs: number[] = []
  const failures: Error[] = []
  for (const socket of sockets) {
    hearAnswers(
      socket,
      (error) => failures.push(error),
      (answer) => {
        const status = Number(answer.slice(9, 12))
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        latenciesMs.push(performance.now() - sentAt.get(socket)!)
        sentAt.delete(socket)
        idle.push(socket)
      },
    )
  }
  const startedAt = performance.now()
  let due = 0
  let unsent = 0
  while (performance.now() - startedAt < durationMs) {
    const until = Math.floor(((performance.now() - startedAt) * perSecond) / 1000)
    for (; due < until; due++) {
      const socket = idle.shift()
      if (!socket) {
        unsent++
        continue
      }
      sentAt.set(socket, performance.now())
      socket.write(requests.next().value as PrintedRequest)
    }
    await new Promise((resolve) => setTimeout(resolve, floodTickMs))
  }
  while (sentAt.size > 0 && failures.length === 0)
    await new Promise((resolve) => setTimeout(resolve, floodTickMs))
  for (const socket of sockets) socket.removeAllListeners('close').destroy()
  if (failures[0]) throw failures[0]
  return { statuses, latenciesMs, sentPerSecond: ((due - unsent) * 1000) / durationMs, unsent }
}

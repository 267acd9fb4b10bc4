/**
 * A partner's server on loopback: records every request and answers as badly as it is told to. Waits are on
 * requests, never on time.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { testTimeoutMs } from './timeout.ts'

export interface ReceivedRequest {
  readonly path: string
  readonly headers: Record<string, string>
  readonly bytes: Buffer
  /** The same as text. */
  readonly body: string
  /** `webhook-id`: the event. */
  readonly id: string
  readonly attempt: number
  /** On the real clock. */
  readonly atMs: number
}

/** Answers, or does not. */
export type Behaviour = (request: ReceivedRequest, response: ServerResponse, socket: Socket) => void

export const accept: Behaviour = (_, response) => void response.end()

export function answer(status: number, headers: Record<string, string> = {}, body = ''): Behaviour {
  return (_, response) => void response.writeHead(status, headers).end(body)
}

export const fail = answer(500, {}, 'broken')

/** Takes the request and never says a word. */
export const hang: Behaviour = () => {}

/** The head at once, then a byte at a time, without end. */
export const drip: Behaviour = (_, response, socket) => {
  response.writeHead(200).flushHeaders()
  const timer = setInterval(() => response.write('.'), 100)
  socket.once('close', () => clearInterval(timer))
}

export const reset: Behaviour = (_request, _response, socket) => void socket.resetAndDestroy()

/** Says 200 and writes as fast as the other side reads, without end. */
export const flood: Behaviour = (_, response, socket) => {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const pour = () => {
    while (!socket.destroyed && response.write(chunk));
    if (!socket.destroyed) response.once('drain', pour)
  }
  response.writeHead(200)
  pour()
}

/** These bytes instead of HTTP. */
export function speak(text: string): Behaviour {
  return (_request, _response, socket) => void socket.end(text)
}

export interface Gate {
  readonly behaviour: Behaviour
  /** Lets through what waits and what comes. */
  open(): void
}

/** Holds every request until it is opened, then does the rest. */
export function gate(then: Behaviour = accept): Gate {
  const waiting: (() => void)[] = []
  let opened = false
  return {
    behaviour(...all) {
      if (opened) then(...all)
      else waiting.push(() => then(...all))
    },
    open() {
      opened = true
      for (const pass of waiting.splice(0)) pass()
    },
  }
}

interface Waiter {
  readonly condition: () => boolean
  readonly done: () => void
}

export class Receiver {
  readonly received: ReceivedRequest[] = []
  /** Bytes that left on connections that have ended. */
  bytesWritten = 0
  readonly #server: Server
  /** What every path does that was not told otherwise. */
  otherwise: Behaviour = accept
  readonly #behaviours = new Map<string, Behaviour>()
  readonly #waiters = new Set<Waiter>()
  readonly #open = new Set<Socket>()
  readonly #underWay = new Map<string, number>()
  readonly #most = new Map<string, number>()

  constructor() {
    this.#server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (request, response) =>
      this.#take(request, response),
    )
    this.#server.on('connection', (socket) => {
      this.#open.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        this.#open.delete(socket)
        this.bytesWritten += socket.bytesWritten
        this.#look()
      })
    })
  }

  listen(): Promise<this> {
    return new Promise((ready) => this.#server.listen(0, '127.0.0.1', () => ready(this)))
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get connections(): number {
    return this.#open.size
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`
  }

  /** What this path does from now on. */
  on(path: string, behaviour: Behaviour): void {
    this.#behaviours.set(path, behaviour)
  }

  at(path: string): ReceivedRequest[] {
    return this.received.filter((request) => request.path === path)
  }

  /** The most requests that were under way at one time. */
  mostAtOnce(path: string): number {
    return this.#most.get(path) ?? 0
  }

  underWay(path: string): number {
    return this.#underWay.get(path) ?? 0
  }

  count(path: string, least: number, withinMs?: number): Promise<void> {
    return this.until(() => this.at(path).length >= least, `${least} requests at ${path}`, withinMs)
  }

  /** The first so many, at whatever path, and those that came with them. */
  async wait(least: number): Promise<readonly ReceivedRequest[]> {
    await this.until(() => this.received.length >= least, `${least} requests`)
    return this.received
  }

  /** Looks at each request and each end of a connection. */
  until(condition: () => boolean, what: string, withinMs = testTimeoutMs): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const waiter = {
        condition,
        done: () => {
          clearTimeout(timer)
          this.#waiters.delete(waiter)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter)
        reject(new Error(`Waited ${withinMs} ms in vain for ${what}; ${this.received.length} requests came.`))
      }, withinMs)
      this.#waiters.add(waiter)
    })
  }

  close(): Promise<void> {
    return new Promise((closed) => {
      this.#server.close(() => closed())
      for (const socket of this.#open) socket.destroy()
    })
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url!
    const chunks: Buffer[] = []
    const underWay = (this.#underWay.get(path) ?? 0) + 1
    this.#underWay.set(path, underWay)
    this.#most.set(path, Math.max(underWay, this.mostAtOnce(path)))
    response.once('close', () => {
      this.#underWay.set(path, this.underWay(path) - 1)
      this.#look()
    })
    request.on('error', () => {})
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      )
      const bytes = Buffer.concat(chunks)
      const received = {
        path,
        headers,
        bytes,
        body: bytes.toString('utf8'),
        id: String(headers['webhook-id']),
        attempt: Number(headers['x-webhook-attempt']),
        atMs: performance.now(),
      }
      this.received.push(received)
      const behaviour = this.#behaviours.get(path) ?? this.otherwise
      behaviour(received, response, request.socket)
      this.#look()
    })
  }

  #look(): void {
    for (const waiter of this.#waiters) if (waiter.condition()) waiter.done()
  }
}

export function openReceiver(): Promise<Receiver> {
  return new Receiver().listen()
}

/** Collectors on loopback that hear the audit log: syslog over TLS, and HTTP. Each keeps what it took. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Certificate } from './certificate.ts'
import { eventually } from './eventually.ts'

/** What a syslog receiver does with a connection: takes it, takes it and breaks off, hangs, ends at once. */
export type SyslogManner = 'take' | 'break' | 'hang' | 'end'

export interface SyslogReceiver {
  readonly port: number
  /** Of connections that were read to their end. */
  readonly messages: readonly string[]
  /** Also of those that broke. */
  readonly read: readonly string[]
  readonly connections: number
  manner: SyslogManner
  until(what: string, isIt: (messages: readonly string[]) => boolean): Promise<void>
  close(): Promise<void>
}

interface TlsOptions extends Certificate {
  /** Clients have to show a certificate of this authority. */
  readonly clients?: string
  readonly port?: number
}

export async function openSyslogReceiver({
  cert,
  key,
  clients,
  port = 0,
}: TlsOptions): Promise<SyslogReceiver> {
  const messages: string[] = []
  const read: string[] = []
  const sockets = new Set<TLSSocket>()
  let connections = 0
  const tls = { cert, key, ...(clients !== undefined && { ca: clients, requestCert: true }) }
  const server = createTlsServer(tls, (socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
    if (self.manner === 'end') return void socket.end()
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (self.manner === 'break') socket.destroy()
    })
    socket.once('end', () => {
      const taken = readFrames(Buffer.concat(chunks))
      read.push(...taken)
      // Node answers the end of the other side with its own.
      if (self.manner === 'take') messages.push(...taken)
    })
  })
  const self: SyslogReceiver = {
    ...{ port: 0, messages, read, manner: 'take' as SyslogManner },
    get connections() {
      return connections
    },
    until: (what, isIt) => eventually(what, () => isIt(messages)).then(() => {}),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
  // One that hangs keeps its side open.
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => {})
    if (self.manner === 'hang') socket.pause()
  })
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening))
  return Object.assign(self, { port: (server.address() as AddressInfo).port })
}

/** RFC 5425, 4.3: a length, a space, and so many bytes. */
export function readFrames(bytes: Buffer): string[] {
  const frames: string[] = []
  for (let place = 0; place < bytes.length; ) {
    const space = bytes.indexOf(0x20, place)
    const digits = bytes.toString('latin1', place, space)
    if (space < 0 || !/^[1-9]\d*$/.test(digits)) throw new Error(`No frame begins at ${place}: ${digits}`)
    const end = space + 1 + Number(digits)
    if (end > bytes.length) break
    frames.push(bytes.toString('utf8', space + 1, end))
    place = end
  }
  return frames
}

export interface SyslogMessage {
  readonly priority: string
  readonly at: string
  readonly host: string
  readonly app: string
  readonly name: string
  readonly fields: Readonly<Record<string, string>>
  /** Without the byte order mark. */
  readonly text: string
}

/** RFC 5424, 6. */
export function parseMessage(message: string): SyslogMessage {
  const head =
    /^<(\d{1,3})>1 (\S+) (\S+) (\S+) - (\S+) \[audit@32473((?: [a-zA-Z]+="(?:[^"\\\]]|\\["\\\]])*")*)\](?: \uFEFF(.*))?$/s
  const [, priority, at, host, app, name, fields, text = ''] = head.exec(message) ?? []
  if (fields === undefined) throw new Error(`This is no message of RFC 5424: ${message}`)
  const pairs = [...fields.matchAll(/ ([a-zA-Z]+)="((?:[^"\\\]]|\\["\\\]])*)"/g)].map(
    ([, key, value]) => [key!, value!.replace(/\\(.)/g, '$1')] as const,
  )
  return {
    priority: priority!,
    at: at!,
    host: host!,
    app: app!,
    name: name!,
    fields: Object.fromEntries(pairs),
    text,
  }
}

export interface HttpRequest {
  readonly headers: IncomingHttpHeaders
  readonly path: string
  readonly lines: readonly string[]
}

export interface HttpCollector {
  readonly url: string
  readonly port: number
  /** Those that were answered with 2xx. */
  readonly taken: readonly HttpRequest[]
  readonly all: readonly HttpRequest[]
  lines(): string[]
  /** A status, or nothing at all. */
  answer: number | 'hang'
  /** Done once, when the next request has been taken and before it is answered. */
  heardBeforeAnswer(act: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

export async function openHttpCollector({
  tls,
  port = 0,
}: {
  readonly tls?: TlsOptions
  readonly port?: number
} = {}): Promise<HttpCollector> {
  const taken: HttpRequest[] = []
  const all: HttpRequest[] = []
  let beforeAnswer: (() => Promise<void>) | undefined
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const lines = body.split('\n').filter((line) => line !== '')
    const heard = { headers: request.headers, path: request.url!, lines }
    all.push(heard)
    const { answer } = self
    if (answer === 'hang') return
    if (answer >= 200 && answer < 300) taken.push(heard)
    await beforeAnswer?.()
    beforeAnswer = undefined
    response.writeHead(answer, { ...(answer === 302 && { location: '/elsewhere' }) }).end('{"text":"told"}')
  }
  const handle = (...given: Parameters<typeof take>) => void take(...given).catch(() => {})
  const server = tls
    ? createHttpsServer(
        {
          cert: tls.cert,
          key: tls.key,
          ...(tls.clients !== undefined && { ca: tls.clients, requestCert: true }),
        },
        handle,
      )
    : createServer(handle)
  server.on('tlsClientError', () => {})
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening))
  const own = (server.address() as AddressInfo).port
  const self: HttpCollector = {
    ...{ url: `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${own}/in`, port: own, taken, all },
    answer: 200 as number | 'hang',
    heardBeforeAnswer: (act) =>
      new Promise((done, failed) => {
        beforeAnswer = () => act().then(done, failed)
      }),
    lines: () => taken.flatMap(({ lines }) => lines),
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
  return self
}

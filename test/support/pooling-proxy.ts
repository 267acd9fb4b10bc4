/**
 * Stands before PostgreSQL as a pooler of transactions does: a session belongs to a client for one
 * transaction, then to whoever comes next. What a session hears while it belongs to nobody is lost.
 */
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { makeFolder } from './process.ts'

export interface PoolingProxy {
  readonly url: string
  close(): Promise<void>
}

interface Session {
  readonly socket: Socket
  client: Socket | undefined
}

const authenticated = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0])
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

export async function openPoolingProxy(url: string): Promise<PoolingProxy> {
  const folder = makeFolder()
  const target = join(decodeURIComponent(/host=([^&]*)/.exec(url)![1]!), '.s.PGSQL.5432')
  const idle: Session[] = []
  const sockets = new Set<Socket>()

  async function openSession(greeting: Buffer): Promise<Session> {
    const session: Session = { socket: track(connect(target)), client: undefined }
    const ready = Promise.withResolvers<void>()
    session.socket.write(greeting)
    const take = readMessages((message) => {
      session.client?.write(message)
      if (!isIdle(message)) return
      if (session.client) idle.push(session)
      session.client = undefined
      ready.resolve()
    })
    session.socket.on('data', take)
    await ready.promise
    return session
  }

  function serve(client: Socket): void {
    let greeting: Buffer | undefined
    let working: Promise<unknown> = Promise.resolve()
    const pass = async (message: Buffer) => {
      const held = [...sessions].find((session) => session.client === client)
      const session = held ?? idle.pop() ?? (await openSession(greeting!))
      sessions.add(session)
      session.client = client
      session.socket.write(message)
    }
    const take = readMessages((message) => {
      if (message[0] === 'X'.charCodeAt(0)) client.end()
      else working = working.then(() => pass(message))
    })
    client.on('data', (chunk) => {
      if (greeting) return take(chunk)
      greeting = chunk
      client.write(Buffer.concat([authenticated, readyForQuery]))
    })
  }

  const sessions = new Set<Session>()
  const track = (socket: Socket) => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => serve(track(client)))
  await new Promise<void>((listening) => server.listen(join(folder, '.s.PGSQL.5432'), listening))
  return {
    url: url.replace(/host=[^&]*/, `host=${encodeURIComponent(folder)}`),
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** A session that waits for its next transaction says so. */
function isIdle(message: Buffer): boolean {
  return message[0] === 'Z'.charCodeAt(0) && message[5] === 'I'.charCodeAt(0)
}

/** A letter, the length of the rest with itself, the rest. */
function readMessages(take: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const end = 1 + rest.readUInt32BE(1)
      take(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  }
}

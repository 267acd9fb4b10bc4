/** One connection to the feed of revocations (server-sent events), read event by event until it ends. */
import type { IncomingMessage } from 'node:http'
import { begin, type Tls } from './exchange.ts'
import { type Credential, printBasic } from './gateway.ts'

export interface StreamListener {
  /** The connection is there; nothing was sent before. */
  connected(): void
  told(event: string, data: string): void
  /** Called once, at the end. */
  ended(why: string): void
}

export interface FeedAddress {
  readonly internalUrl: string
  readonly credential: Credential
  readonly tls: Tls
}

const unreadAtMost = 4 * 1024 * 1024

/** Answers how to hear no more. */
export function openStream(
  { internalUrl, credential, tls }: FeedAddress,
  listener: StreamListener,
): (why: string) => void {
  const headers = { authorization: printBasic(credential), accept: 'text/event-stream' }
  const asking = begin(new URL('/internal/v1/revocations', internalUrl), { headers, agent: false, ...tls })
  let isOver = false
  const end = (why: string) => {
    if (isOver) return
    isOver = true
    asking.destroy()
    listener.ended(why)
  }
  asking.on('socket', (socket) => {
    const isSecure = 'encrypted' in socket
    socket.once(isSecure ? 'secureConnect' : 'connect', () => !isOver && listener.connected())
  })
  asking.on('error', (error) => end(error.message))
  asking.on('close', () => end('It was closed.'))
  asking.on('response', (answer) => {
    if (answer.statusCode !== 200) return end(`The gateway answered ${answer.statusCode}.`)
    readEvents(answer, (event, data) => !isOver && listener.told(event, data), end)
  })
  asking.end()
  return end
}

function readEvents(
  answer: IncomingMessage,
  told: (event: string, data: string) => void,
  end: (why: string) => void,
): void {
  let rest = ''
  answer.setEncoding('utf8')
  answer.on('error', (error) => end(error.message))
  answer.on('end', () => end('The gateway ended it.'))
  answer.on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line]))
      const read = (name: string) =>
        fields
          .get(name)
          ?.slice(name.length + 1)
          .trimStart() ?? ''
      told(read('event'), read('data'))
    }
    if (rest.length > unreadAtMost) end('One event of it is too long.')
  })
}

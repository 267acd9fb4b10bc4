/**
 * Where deliveries arrive. Paths that begin with /hang are never answered, with /slow after half a second,
 * with /late after 50 ms; the others at once. It counts, and remembers how long ago each event was published
 * when the event's e-mail address says when that was.
 */
import { createServer, type Socket } from 'node:net'
import { announce } from './announce.ts'

const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const slowMs = 500
const lateMs = 50
const published = /t(\d+\.\d+)@/

let received = 0
let wanted = Number.POSITIVE_INFINITY
let wantedCame: () => void = () => {}
const latencies: number[] = []

const server = createServer(hear).listen({ port: 0, host: '127.0.0.1', backlog: 2_000 }, () => {
  const address = server.address() as { port: number }
  announce(`http://127.0.0.1:${address.port}`, async ({ kind, count }) => {
    if (kind === 'await') await awaitMore(count)
    if (kind === 'latencies') return latencies.splice(0)
    return received
  })
})

/** Resolves when so many have come since the last time. */
async function awaitMore(count: number): Promise<void> {
  wanted = count
  if (received < count) await new Promise<void>((resolve) => (wantedCame = resolve))
  received -= count
  wanted = Number.POSITIVE_INFINITY
}

function hear(socket: Socket): void {
  let text = ''
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (let end = endOfRequest(text); end > 0; end = endOfRequest(text)) {
      take(socket, text.slice(0, end))
      text = text.slice(end)
    }
  })
}

function endOfRequest(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return 0
  const end = headEnd + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0)
  return text.length >= end ? end : 0
}

function take(socket: Socket, request: string): void {
  if (request.startsWith('POST /hang')) return
  const at = published.exec(request)?.[1]
  if (at !== undefined) latencies.push(performance.timeOrigin + performance.now() - Number(at))
  received++
  if (received >= wanted) wantedCame()
  if (request.startsWith('POST /slow')) setTimeout(() => socket.write(answer), slowMs)
  else if (request.startsWith('POST /late')) setTimeout(() => socket.write(answer), lateMs)
  else socket.write(answer)
}

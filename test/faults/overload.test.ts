/**
 * More requests than can be begun in time: those that are too many are told so at once, in the shape they
 * expect, and are counted.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { begunInTurn, burstTimeoutMs } from '../../src/http/entrance.ts'
import { openBareServer } from '../support/bare-server.ts'
import { send } from '../support/browser.ts'
import { openTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { endGateway, makeFolder, startGateway } from '../support/process.ts'

const lines: string[] = []
let turnedAway = 0
let app: FastifyInstance
let url: string

before(async () => {
  app = await openBareServer({
    log: pino({}, { write: (line: string) => lines.push(line) }),
    turnedAway: (requests) => {
      turnedAway += requests
    },
  })
  app.get('/quick', () => ({ done: true }))
  app.get('/slow', () => {
    const until = performance.now() + burstTimeoutMs + 50
    while (performance.now() < until);
    return { done: true }
  })
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
after(() => app.close())

test('those who cannot be begun in time get 503 with Retry-After, and whether it is well is answered all the while', async () => {
  const [answers, health] = await Promise.all([askAtOnce(3 * begunInTurn), send(`${url}/healthz`)])
  assert.equal(health.status, 200)
  const refused = answers.filter(({ status }) => status === 503)
  assert.equal(answers.length, 3 * begunInTurn)
  assert.ok(answers.every(({ status }) => status === 200 || status === 503))
  assert.ok(refused.length > 0 && refused.length < answers.length, `${refused.length} refused`)
  for (const refusal of refused) assertRefusal(refusal)
  assert.ok(refused.some(isPage) && !refused.every(isPage))

  assert.equal((await send(`${url}/quick`)).status, 200, 'it is as before when they have gone')
  await eventually('every one of them is told', () => countTold() === refused.length)
  assert.equal(turnedAway, refused.length)
})

test('a thousand callers at once are let in while nobody can accept them, and answered afterwards', async (t) => {
  const database = await openTestDatabase()
  t.after(database.close)
  const settings = { DATA_DIR: makeFolder(), DATABASE_URL: database.url, SECRET_KEY: 'ab'.repeat(32) }
  const gateway = await startGateway(settings)
  t.after(() => endGateway(gateway))
  const { hostname, port } = new URL(gateway.baseUrl)
  gateway.kill('SIGSTOP')
  t.after(() => gateway.kill('SIGCONT'))
  const callers = Array.from({ length: 1_000 }, () => connect({ host: hostname, port: Number(port) }))
  await Promise.all(callers.map((caller) => once(caller, 'connect', { signal: AbortSignal.timeout(10_000) })))
  gateway.kill('SIGCONT')
  const first = await Promise.all(
    callers.map(async (caller) => {
      caller.write('GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n')
      return String((await once(caller, 'data', { signal: AbortSignal.timeout(60_000) }))[0]).slice(0, 12)
    }),
  )
  assert.deepEqual(new Set(first), new Set(['HTTP/1.1 200']))
})

/** As lines of the log say. */
function countTold(): number {
  const told = lines
    .filter((line) => /turned away/.test(line))
    .map((line) => Number(JSON.parse(line).requests))
  return told.reduce((sum, requests) => sum + requests, 0)
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/**
 * All at once, on one connection, without waiting for answers. One of those that are begun in the second turn
 * takes too long.
 */
async function askAtOnce(times: number): Promise<Answer[]> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) }).setEncoding('latin1')
  const requests = Array.from({ length: times }, (_, index) => {
    const path = index === begunInTurn + 10 ? '/slow' : '/quick'
    const accept = index % 2 === 0 ? 'application/json' : 'text/html'
    const close = index === times - 1 ? 'connection: close\r\n' : ''
    return `GET ${path} HTTP/1.1\r\nhost: h\r\naccept: ${accept}\r\n${close}\r\n`
  })
  socket.write(requests.join(''))
  let text = ''
  for await (const chunk of socket) text += chunk
  return readAnswers(text)
}

function readAnswers(text: string): Answer[] {
  const answers: Answer[] = []
  for (let at = 0; at < text.length; ) {
    const bodyAt = text.indexOf('\r\n\r\n', at) + 4
    const [first, ...fields] = text.slice(at, bodyAt - 4).split('\r\n')
    const headers = new Headers(fields.map((field) => field.split(': ') as [string, string]))
    at = bodyAt + Number(headers.get('content-length'))
    answers.push({ status: Number(first!.split(' ')[1]), headers, text: text.slice(bodyAt, at) })
  }
  return answers
}

const isPage = ({ headers }: Answer) => headers.get('content-type')!.startsWith('text/html')

function assertRefusal(answer: Answer): void {
  const { headers, text } = answer
  assert.equal(headers.get('retry-after'), '1')
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  if (isPage(answer)) {
    assert.match(text, /Try the same request again\./)
    return
  }
  const { error, request_id, error_description } = JSON.parse(text)
  assert.deepEqual([error, request_id], ['temporarily_unavailable', headers.get('x-request-id')])
  assert.match(error_description, /Try the same request again\./)
}

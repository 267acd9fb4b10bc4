/**
 * `countersign listen`: streams a branch's events to a terminal and, with --forward-to, to a local program,
 * signed as a real delivery is. Talks to a gateway over HTTP only; with a demo on this machine it finds
 * everything in the demo.json of the gateway that runs.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { request } from 'undici'
import { findRunningDemos } from '../demo/running-demos.ts'
import type { ListenSettings } from '../settings/config.ts'
import { escapeText } from '../text/printable.ts'
import { printSignatures } from '../webhooks/outbound/signature.ts'
import { type CommandWords, type Option, UsageError } from './command.ts'
import { secretOption, takeSecret } from './secret-file.ts'
import { explain } from './system-errors.ts'

export const listenOptions: readonly Option[] = [
  { name: 'forward-to', value: 'URL', meaning: 'a local program to POST each event to' },
  { name: 'url', value: 'URL', meaning: 'the gateway; from demo.json unless given' },
  { name: 'client-id', value: 'ID', meaning: 'from demo.json unless given' },
  secretOption('client-secret', 'from COUNTERSIGN_CLIENT_SECRET or demo.json unless given'),
  secretOption('secret', 'a file with what signs in place of the client secret'),
  {
    name: 'after',
    value: 'NUMBER',
    meaning: 'the sequence number to begin after; only new events unless given',
  },
  { name: 'sandbox', meaning: 'the sandbox of demo.json' },
]

interface Target {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
}

interface StreamedEvent {
  readonly sequence: number
  readonly eventId: string
  readonly kind: string
  readonly action: string
  readonly entity: string
  readonly body: string
}

const reconnectMs = 1_000

export async function listen(words: CommandWords, settings: ListenSettings): Promise<void> {
  const forwardTo = words.find('forward-to')
  if (forwardTo !== undefined && !URL.canParse(forwardTo))
    throw new UsageError('--forward-to must be a URL, such as http://localhost:3000/hooks')
  const target = getTarget(words, settings)
  const secret = takeSecret(words, 'secret') ?? target.clientSecret
  const isJson = words.has('json')
  let last = words.has('after') ? parseAfter(words.get('after')) : await getNewest(target).catch(tellAway)
  if (!isJson)
    say(`Listening to ${target.url}${forwardTo ? `, forwarding to ${forwardTo}` : ''}. Control-C ends it.`)
  for (;;) {
    try {
      for await (const event of stream(target, last)) {
        last = event.sequence
        const answer = forwardTo === undefined ? undefined : await forward(forwardTo, event, secret)
        const { sequence, eventId, kind, action, entity, body } = event
        if (isJson) say(JSON.stringify(answer === undefined ? event : { ...event, answer }))
        else say(`${sequence}  ${kind} ${action}  ${entity}  ${eventId}  ${answer ? `→ ${answer}` : body}`)
      }
    } catch (error) {
      if (error instanceof UsageError) throw error
      process.stderr.write(`The connection ended. ${explain(error)} Trying again.\n`)
    }
    await wait(reconnectMs)
  }
}

function say(text: string): void {
  process.stdout.write(`${escapeText(text)}\n`)
}

function parseAfter(text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new UsageError('--after takes the number of an event, such as 17, or 0.')
  return Number(text)
}

function getTarget(words: CommandWords, settings: ListenSettings): Target {
  const isTold = words.has('url') && words.has('client-id')
  const demo = isTold ? undefined : findDemo(settings)
  const known = words.has('sandbox')
    ? { ...demo?.sandbox, url: demo?.sandboxUrl }
    : { ...demo, url: demo?.baseUrl }
  const url = words.find('url') ?? known.url
  const clientId = words.find('client-id') ?? known.clientId
  const clientSecret = takeSecret(words, 'client-secret') ?? settings.clientSecret ?? known.clientSecret
  if (!url || !clientId || !clientSecret)
    throw new UsageError(
      'No gateway with demo data runs here. Say which one and as which client: --url, --client-id and --client-secret-file.',
    )
  if (!URL.canParse(url)) throw new UsageError('--url must be a URL, such as http://localhost:8080')
  return { url: url.replace(/\/$/, ''), clientId, clientSecret }
}

/** Of the data folder that was named; otherwise of the gateway that runs, whichever folder it has. */
function findDemo({ dataDir, isDataDirGiven }: ListenSettings): DemoFile | undefined {
  if (isDataDirGiven) return readDemo(dataDir)
  const running = findRunningDemos()
  if (running.includes(resolve(dataDir)) || running.length === 0) return readDemo(dataDir)
  if (running.length === 1) return readDemo(running[0]!)
  const choices = running.map((folder) => `  DATA_DIR=${folder} npx countersign listen`)
  throw new UsageError(`Several gateways run here. Say which:\n\n${choices.join('\n')}`)
}

interface DemoFile {
  readonly baseUrl?: string
  readonly sandboxUrl?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly sandbox?: { readonly clientId?: string; readonly clientSecret?: string }
}

function readDemo(dataDir: string): DemoFile | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as DemoFile
  } catch {
    return undefined
  }
}

async function open({ url, clientId, clientSecret }: Target, query: string, accept: string) {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  const answer = await request(`${url}/v2/events?${query}`, {
    headers: { authorization, accept },
    bodyTimeout: 0,
  })
  if (answer.statusCode === 200) return answer.body
  const text = await answer.body.text()
  throw answer.statusCode < 500
    ? new UsageError(`The gateway refused: ${text}`)
    : new Error(`status ${answer.statusCode}`)
}

/** What it cannot reach at first is a mistake, such as another port; later it waits. */
function tellAway(error: unknown): never {
  if (error instanceof UsageError) throw error
  throw new Error(`${explain(error)} Is the gateway running? --url names another.`)
}

async function getNewest(target: Target): Promise<number> {
  const body = (await (await open(target, 'limit=1', 'application/json')).json()) as { newest: number }
  return body.newest
}

async function* stream(target: Target, after: number): AsyncGenerator<StreamedEvent> {
  const body = await open(target, `after=${after}`, 'text/event-stream')
  // One decoder: a character may come in two pieces.
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (data !== undefined) yield JSON.parse(data) as StreamedEvent
    }
  }
}

async function forward(url: string, { eventId, body }: StreamedEvent, secret: string): Promise<string> {
  const signatures = printSignatures(
    { id: eventId, body, sentAt: new Date() },
    { current: secret, all: [secret] },
  )
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Countersign-Listen/1',
    'x-webhook-attempt': '1',
    ...signatures,
  }
  try {
    const answer = await request(url, { method: 'POST', headers, body })
    await answer.body.dump()
    return String(answer.statusCode)
  } catch (error) {
    return explain(error)
  }
}

/** A listener to the audit log over HTTP: pages, and the stream that goes on. */
import { request } from 'undici'

export interface ToldLine {
  readonly id: string | undefined
  readonly event: string
  readonly data: string
}

export interface HeardAudit {
  readonly status: number
  readonly contentType: string
  /** The next line, or undefined at the end of the stream. */
  next(): Promise<ToldLine | undefined>
  close(): void
}

type Headers = Readonly<Record<string, string>>

export async function hearAudit(origin: string, query: string, headers: Headers): Promise<HeardAudit> {
  const leave = new AbortController()
  const answer = await request(`${origin}/internal/v1/audit?${query}`, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: leave.signal,
  })
  answer.body.on('error', () => {})
  const events = readEvents(answer.body)
  return {
    status: answer.statusCode,
    contentType: String(answer.headers['content-type']),
    async next() {
      for (;;) {
        const { value, done } = await events.next()
        if (done) return undefined
        const fields = Object.fromEntries(value.split('\n').map((line) => line.split(/: (.*)/s, 2)))
        if (fields.data !== undefined) return { id: fields.id, event: fields.event, data: fields.data }
      }
    },
    close: () => leave.abort(),
  }
}

async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop()!
    yield* blocks
  }
}

export function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

export async function* inTurn(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

/** What entries are about, in the order in which they are told. */
export function subjectsOf(lines: readonly string[]): string[] {
  return lines
    .map((line) => JSON.parse(line) as { kind: string; subject: string })
    .flatMap(({ kind, subject }) => (kind === 'entry' ? [subject] : []))
}

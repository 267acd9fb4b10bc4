/** HTTP calls of the gateway: no redirects, so many milliseconds and bytes at most. */
import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type RequestOptions,
  request as requestPlain,
} from 'node:http'
import { request as requestSecure, Agent as SecureAgent } from 'node:https'

export interface Tls {
  /** PEM. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export interface Question {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

const answerBytesAtMost = 1024 * 1024

export function begin(url: URL, options: RequestOptions): ClientRequest {
  return url.protocol === 'https:' ? requestSecure(url, options) : requestPlain(url, options)
}

export interface Exchange {
  ask(question: Question): Promise<Reply>
  close(): void
}

export function openExchange(tls: Tls, timeoutMs: number): Exchange {
  const plain = new Agent({ keepAlive: true })
  const secure = new SecureAgent({ keepAlive: true, ...tls })

  async function ask(question: Question, mayAskAgain = true): Promise<Reply> {
    const agent = question.url.protocol === 'https:' ? secure : plain
    const { method, headers } = question
    const asking = begin(question.url, { method, headers, agent, signal: AbortSignal.timeout(timeoutMs) })
    try {
      return await read(asking, question.body)
    } catch (error) {
      // A connection that was kept open may be closed at the other end while it is taken up again.
      if (mayAskAgain && asking.reusedSocket && isReset(error)) return ask(question, false)
      throw error
    }
  }
  return {
    ask: (question) => ask(question),
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

function read(asking: ClientRequest, body: string | undefined): Promise<Reply> {
  return new Promise((resolve, reject) => {
    asking.on('error', reject)
    asking.on('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('error', reject)
      answer.on('data', (chunk: string) => {
        text += chunk
        if (text.length > answerBytesAtMost) asking.destroy(new Error('The answer is too long.'))
      })
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }))
    })
    asking.end(body)
  })
}

/**
 * One GET, without keeping the connection. Certificates are judged elsewhere, so none is refused here, and
 * nothing secret is sent.
 */
import { type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { isRecord } from '../vocabulary/record-of.ts'

export interface SiteAnswer {
  readonly status: number
  /** Undefined when it is not JSON. */
  readonly body: Record<string, unknown> | undefined
}

const bodyLimit = 65_536

export function askSite(url: string, timeoutMs: number): Promise<SiteAnswer> {
  const send = url.startsWith('https:') ? requestTls : request
  return new Promise((resolve, reject) => {
    const options = { agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(timeoutMs) }
    send(url, options, (response) => readAnswer(response).then(resolve, reject))
      .on('error', reject)
      .end()
  })
}

async function readAnswer(response: IncomingMessage): Promise<SiteAnswer> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    if (text.length > bodyLimit) break
  }
  return { status: response.statusCode ?? 0, body: parseObject(text) }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What every peer of the delivery benchmark does: sign a body and POST it, the way the gateway does. */
import { createHmac } from 'node:crypto'
import { Agent } from 'undici'

const agent = new Agent({ connections: null, pipelining: 1 })
const secret = 'a'.repeat(53)

export async function post(url: string, body: string): Promise<void> {
  const { origin, pathname } = new URL(url)
  const headers = {
    'content-type': 'application/json',
    'x-webhook-signature': createHmac('sha256', secret).update(body).digest('hex'),
  }
  const answer = await agent.request({ origin, path: pathname, method: 'POST', headers, body })
  await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}.`)
}

/** As many bytes as an event of the benchmark. */
export const body = JSON.stringify({ id: 1, padding: ''.padEnd(230, 'x') })

export const webhooks = 100

export function urlOf(receiver: string, index: number): string {
  return `${receiver}/${index % webhooks}`
}

/** A listener to the revocation feed of a node that believes nothing: it keeps what it was told. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { basic } from './gateway.ts'

interface ToldEvent {
  readonly event: string
  readonly data: string
}

export interface HeardFeed {
  readonly status: number
  readonly events: readonly ToldEvent[]
  /** Every tag that was told. */
  tags(): string[]
  /** Resolves when something that answers to this has been told. */
  until(isIt: (told: ToldEvent) => boolean): Promise<ToldEvent>
  /** Resolves when the node ends it. */
  readonly ended: Promise<void>
  close(): void
}

export async function hearRevocations(
  url: string,
  service: { readonly id: string; readonly secret: string },
): Promise<HeardFeed> {
  const asking = request(`${url}/internal/v1/revocations`, { headers: basic(service) })
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  const events: ToldEvent[] = []
  const waiting = new Set<() => void>()
  let rest = ''
  answer.setEncoding('utf8').on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(': ') as [string, string]))
      events.push({ event: fields.event!, data: fields.data! })
    }
    for (const look of waiting) look()
  })
  asking.on('error', () => {})
  answer.on('error', () => {})
  const ended = new Promise<void>((resolve) => answer.once('close', resolve))
  return {
    status: answer.statusCode!,
    events,
    tags: () => events.flatMap(({ event, data }) => (event === 'changed' ? data.split(' ') : [])),
    until: (isIt) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = events.find(isIt)
          if (!found) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        void ended.then(() => reject(new Error('The feed ended before it told so.')))
        look()
      }),
    ended,
    close: () => asking.destroy(),
  }
}

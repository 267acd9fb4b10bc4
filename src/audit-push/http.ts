/** A collector that takes lines of JSON by HTTP: 2xx says that it has them. No redirect is followed. */
import type { Agent } from 'undici'
import { printLines, type StreamedBlock } from '../audit/stream-line.ts'
import type { AuditPushConfig, HttpTarget } from '../settings/config.ts'
import { type Collector, failureOf, pushTimeoutMs, tlsOf } from './collector.ts'

const answerBytes = 64 * 1024

export function openHttp({ url }: HttpTarget, config: AuditPushConfig): Collector {
  let opening: Promise<Agent> | undefined
  const open = () => {
    opening ??= openAgent(config)
    return opening
  }
  return {
    async push(blocks, signal) {
      try {
        const { request } = await import('undici')
        const answer = await request(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/x-ndjson',
            'idempotency-key': keyOf(blocks),
            ...(config.authorization !== undefined && { authorization: config.authorization }),
          },
          body: blocks.flatMap(printLines).join(''),
          dispatcher: await open(),
          signal: AbortSignal.any([signal, AbortSignal.timeout(pushTimeoutMs)]),
        })
        await answer.body.dump({ limit: answerBytes })
        const { statusCode } = answer
        return statusCode >= 200 && statusCode < 300 ? undefined : `HTTP ${statusCode}`
      } catch (error) {
        return failureOf(error)
      }
    },
    async close() {
      await (await opening)?.destroy()
    },
  }
}

async function openAgent(config: AuditPushConfig): Promise<Agent> {
  const { Agent } = await import('undici')
  return new Agent({
    connect: { ...tlsOf(config), timeout: pushTimeoutMs },
    headersTimeout: pushTimeoutMs,
    bodyTimeout: pushTimeoutMs,
    keepAliveTimeout: 4_000,
  })
}

/** The same blocks once more have the same key. */
function keyOf(blocks: readonly StreamedBlock[]): string {
  const last = blocks.at(-1)!
  return `${blocks[0]!.position}-${last.position}:${last.hash.toString('hex')}`
}

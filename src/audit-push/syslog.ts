/**
 * A collector that takes syslog over TLS (RFC 5425). The protocol has no acknowledgement of messages. What it
 * has is an end: a receiver that is told that nothing follows answers that it has read up to there (section
 * 4.4). So each push is a connection, and counts when the receiver has ended its side after ours. One that ends by
 * itself looks the same when both meet on the way: we wait with our end until its own would have come.
 */
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { AuditPushConfig, SyslogTarget } from '../settings/config.ts'
import { type Collector, failureOf, pushTimeoutMs, tlsOf } from './collector.ts'
import { printFrames } from './syslog-message.ts'

const leastWaitMs = 100

export function openSyslog(target: SyslogTarget, config: AuditPushConfig, hostname: string): Collector {
  return {
    async push(blocks, signal) {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(pushTimeoutMs)])
      try {
        await send(target, config, printFrames(blocks, hostname), deadline)
        return undefined
      } catch (error) {
        return failureOf(error)
      }
    },
    close: async () => {},
  }
}

function send(
  { host, port }: SyslogTarget,
  config: AuditPushConfig,
  frames: Buffer,
  deadline: AbortSignal,
): Promise<void> {
  deadline.throwIfAborted()
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, ...(isIP(host) === 0 && { servername: host }), ...tlsOf(config) })
    const beganAtMs = performance.now()
    let hasAsked = false
    let hasEnded = false
    let timer: NodeJS.Timeout | undefined
    const giveUp = () => socket.destroy(deadline.reason as Error)
    deadline.addEventListener('abort', giveUp)
    const ask = () => {
      hasAsked = true
      socket.end()
    }
    socket
      .once('secureConnect', () => {
        // More than a round trip.
        const waitMs = Math.max(leastWaitMs, performance.now() - beganAtMs)
        socket.write(frames, () => {
          timer = setTimeout(ask, waitMs)
        })
      })
      .once('end', () => {
        hasEnded = hasAsked
        if (!hasEnded) socket.destroy()
      })
      .once('error', reject)
      .once('close', () => {
        deadline.removeEventListener('abort', giveUp)
        clearTimeout(timer)
        if (hasEnded) resolve()
        else reject(new Error('it ended the connection before it had everything'))
      })
      .resume()
  })
}

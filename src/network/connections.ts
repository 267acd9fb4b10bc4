/**
 * The connections that attempts are made on. A receiver may close one that it keeps in the moment in which it
 * is used again: that is no failure of the receiver, and shows as an error of a connection that was there
 * before the attempt began.
 */
import type { LookupFunction } from 'node:net'
import type { Agent, buildConnector } from 'undici'
import { codeOf } from '../text/thrown.ts'

export interface Connections {
  /** Keeps connections and uses them again. */
  readonly kept: Agent
  /** A new connection for each attempt. */
  readonly fresh: Agent
  /** Whether this error ended a connection that was open at that moment. */
  wasOpenAt(error: unknown, atMs: number): boolean
  close(): Promise<void>
}

interface ConnectionOptions {
  readonly deadlineMs: number
  readonly lookup: LookupFunction
  readonly certificateAuthority: string | undefined
}

/** How long one address of a name may take before the next is dialled; the last has as long as there is. */
const nextAddressAfterMs = 500

const endedUnheard = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/

/** Loads undici, which a gateway that starts does not wait for. */
export async function openConnections({
  deadlineMs,
  lookup,
  certificateAuthority,
}: ConnectionOptions): Promise<Connections> {
  const undici = await import('undici')
  /** When the connection was opened that an error ended. */
  const openedAt = new WeakMap<Error, number>()
  const dial = undici.buildConnector({
    lookup,
    timeout: deadlineMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
    ...(certificateAuthority !== undefined && { ca: certificateAuthority }),
  })
  const connect: buildConnector.connector = (options, done) =>
    dial(options, (...opened) => {
      const [, socket] = opened
      const nowMs = performance.now()
      socket?.prependListener('error', (error) => openedAt.set(error, nowMs))
      done(...opened)
    })
  const settings: Agent.Options = {
    // The lanes bound what is under way. A bound by host would let one webhook starve another on the same
    // host.
    connections: null,
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 60_000,
    // The attempt has a deadline of its own, which knows of a process that stood still.
    headersTimeout: 2 * deadlineMs,
    bodyTimeout: 2 * deadlineMs,
    maxHeaderSize: 16 * 1024,
    connect,
  }
  const kept = new undici.Agent({ ...settings, pipelining: 1 })
  const fresh = new undici.Agent({ ...settings, pipelining: 0 })
  return {
    kept,
    fresh,
    wasOpenAt(error, atMs) {
      if (!(error instanceof Error) || !endedUnheard.test(codeOf(error) ?? '')) return false
      return (openedAt.get(error) ?? Number.POSITIVE_INFINITY) < atMs
    },
    async close() {
      await Promise.all([kept.destroy(), fresh.destroy()])
    },
  }
}

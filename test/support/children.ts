/**
 * The processes of a gateway behind one port, and callers who come by a connection of their own each time.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { eventually } from './eventually.ts'
import { testTimeoutMs } from './timeout.ts'

/** Those that this parent started to serve, and that still run. */
export function findChildren(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isChildOf(pid, parent))
}

function isChildOf(pid: number, parent: number): boolean {
  try {
    const [, state, owner] = /^\d+ \(.*\) (\S) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
    return (
      Number(owner) === parent &&
      state !== 'Z' &&
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('process.ts')
    )
  } catch {
    return false
  }
}

export function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Whoever is told may have ended a moment ago. */
export function tell(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

export interface FreshAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The beginning of its request ids tells a process from the others. */
  readonly process: string
}

/** Over a connection that nobody used before. */
export function askFresh(
  url: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<FreshAnswer> {
  return new Promise((done, failed) => {
    const method = body === undefined ? 'GET' : 'POST'
    const signal = AbortSignal.timeout(testTimeoutMs)
    const asked = request(url, { agent: false, method, headers, signal }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      const id = String(answer.headers['x-request-id'])
      answer.once('error', failed)
      answer.once('end', () =>
        done({
          status: answer.statusCode!,
          headers: answer.headers,
          text,
          process: id.slice(0, id.lastIndexOf('-')),
        }),
      )
    })
    asked.once('error', failed)
    asked.end(body)
  })
}

/** Asks until so many different processes have answered. */
export async function meetAll(origin: string, count: number): Promise<Set<string>> {
  const met = new Set<string>()
  return eventually(`${count} processes have answered`, async () => {
    met.add((await askFresh(`${origin}/healthz`)).process)
    return met.size === count && met
  })
}

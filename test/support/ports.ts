import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { hour } from '../../src/clock.ts'

/**
 * Below what the system hands out by itself: no connection of another test can take such a port in between.
 */
const [lowest, highest] = [10_000, 32_000]

/**
 * Of all tests that run at once. A server that is down for a moment, because it is started again, keeps its
 * port.
 */
const claims = join(tmpdir(), `countersign-ports-${userInfo().uid}`)

/**
 * Ports that were free a moment ago, and are nobody else's until this process ends, for a server that must
 * know its port before it listens.
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(lowest, highest)
    if (claim(port) && (await isFree(port))) ports.add(port)
  }
  return [...ports]
}

export async function findFreePort(): Promise<number> {
  return (await findFreePorts(1))[0]!
}

function claim(port: number): boolean {
  const path = join(claims, String(port))
  mkdirSync(claims, { recursive: true })
  try {
    if (isLeftBehind(path)) rmSync(path, { force: true })
    writeFileSync(path, '', { flag: 'wx' })
  } catch {
    return false
  }
  claimed.push(path)
  return true
}

const claimed: string[] = []
process.once('exit', () => {
  for (const path of claimed) rmSync(path, { force: true })
})

/** By a process that was killed. */
function isLeftBehind(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs > 2 * hour
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

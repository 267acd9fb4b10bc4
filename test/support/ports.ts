import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below what the system hands out by itself: no connection of another test can take such a port in between. */
const [lowest, highest] = [10_000, 32_000]

/** Ports that were free a moment ago, for a server that must know its port before it listens. */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(lowest, highest)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

export async function findFreePort(): Promise<number> {
  return (await findFreePorts(1))[0]!
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

/**
 * One of several processes behind one port. It ends in order when it is told to, and when its parent is gone.
 */
import cluster from 'node:cluster'
import type { Logger } from 'pino'
import { type Gateway, openGateway } from '../gateway/gateway.ts'
import type { Config } from '../settings/config.ts'
import { shareOf } from '../settings/share.ts'
import { endOnSignals } from './ending.ts'
import { openLine } from './line.ts'
import type { ChildMessage, ParentMessage } from './messages.ts'

/** No parent is left to kill a child that does not come to an end. */
const orphanTimeoutMs = 30_000

export async function serveAsChild(config: Config, log: Logger, number: number): Promise<void> {
  const line = openLine(tellParent)
  const sibling = { ...line, keepsHouse: number === 0 }
  const starting = openGateway(shareOf(config), { log, sibling })
  endInOrder(starting, log)
  process.on('message', (message: ParentMessage) => {
    if (message.kind === 'collect') tellMetrics(starting, message.number)
    else line.hear(message)
  })
  try {
    const { baseUrl: live, sandboxUrl: sandbox, internalUrl: internal } = await starting
    tellParent({ kind: 'ready', addresses: { live, sandbox, internal } })
  } catch (error) {
    // The parent prints it; a cause without a message of its own is sent whole.
    tellParent({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }, () =>
      process.exit(1),
    )
  }
}

/** A parent that has gone is sent nothing. */
function tellParent(message: ChildMessage, sent: () => void = () => {}): void {
  if (process.connected) process.send!(message, undefined, undefined, sent)
  else sent()
}

/** A process that does not start has counted nothing. */
function tellMetrics(starting: Promise<Gateway>, number: number): void {
  starting
    .then((gateway) => gateway.context.metrics?.collect())
    .then(
      (metrics) => tellParent({ kind: 'metrics', number, metrics: metrics ?? [] }),
      () => {},
    )
}

function endInOrder(starting: Promise<Gateway>, log: Logger): void {
  const end = endOnSignals(starting, log)
  cluster.worker!.once('disconnect', () => {
    // Without this Node ends the process on the spot.
    cluster.worker!.exitedAfterDisconnect = true
    setTimeout(() => process.exit(1), orphanTimeoutMs).unref()
    end({}, 'the process that started this one is gone; this one ends too')
  })
}

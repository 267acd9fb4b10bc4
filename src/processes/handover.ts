/**
 * A connection that is handed to a process which dies before it takes it would have no process, and its
 * client would wait for ever: Node's cluster keeps it until that process answers. Here the answer "not taken"
 * is given in the name of the dead process, and the connection goes to another.
 */
import type { Worker } from 'node:cluster'

interface ClusterMessage {
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

export function rescueConnections({ process: child }: Worker): void {
  const underWay = new Set<number>()
  const send = child.send.bind(child) as (...words: unknown[]) => boolean
  Object.assign(child, {
    send(message: ClusterMessage, ...rest: unknown[]) {
      if (message.act === 'newconn' && message.seq !== undefined) underWay.add(message.seq)
      return send(message, ...rest)
    },
  })
  const answered = (message: ClusterMessage) => {
    underWay.delete(message.ack ?? -1)
  }
  child.on('internalMessage' as 'message', answered as () => void)
  let isForgotten = false
  child.once('disconnect', () => {
    isForgotten = true
  })
  child.once('exit', () =>
    setImmediate(() => {
      if (underWay.size === 0) return
      // While a connection is on its way Node does not say this itself; the cluster would go on handing
      // connections to the dead process.
      if (!isForgotten) child.emit('disconnect')
      for (const seq of underWay)
        child.emit(
          'internalMessage' as 'message',
          { cmd: 'NODE_CLUSTER', ack: seq, accepted: false },
          undefined!,
        )
    }),
  )
}

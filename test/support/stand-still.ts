/**
 * Loaded into a process before anything else: with its first connection everything in it stands still for six
 * seconds, as it does where the code is loaded on little of a processor.
 */
import { Socket } from 'node:net'

const { connect } = Socket.prototype
let isFirst = true

Socket.prototype.connect = function (this: Socket, ...how: Parameters<typeof connect>) {
  const connecting = connect.apply(this, how)
  if (isFirst) setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000))
  isFirst = false
  return connecting
} as typeof connect

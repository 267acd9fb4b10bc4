/**
 * A name server on loopback that answers A and AAAA from a table which a test may change; nothing else exists
 * for it.
 */
import { createSocket } from 'node:dgram'
import ipaddr from 'ipaddr.js'

export interface DnsServer {
  /** For WEBHOOK_DNS_SERVERS. */
  readonly address: string
  /** Every name that was asked for, in order, once a question. */
  readonly asked: readonly string[]
  /** IPv4 addresses answer A, IPv6 addresses AAAA. */
  set(name: string, addresses: readonly string[]): void
  /** Questions of this kind get no answer at all from now on. */
  fallSilent(kind: 'A' | 'AAAA'): void
  close(): Promise<void>
}

const typeA = 1
const typeAaaa = 28
const nameError = 3

export async function openDnsServer(names: Record<string, readonly string[]> = {}): Promise<DnsServer> {
  const table = new Map(Object.entries(names))
  const asked: string[] = []
  const silent = new Set<number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, peer) => {
    const { name, type, end } = readQuestion(query)
    asked.push(name)
    if (silent.has(type)) return
    socket.send(printAnswer(query, end, type, table.get(name)), peer.port, peer.address)
  })
  await new Promise<void>((listening) => socket.bind(0, '127.0.0.1', listening))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    set: (name, addresses) => void table.set(name, addresses),
    fallSilent: (kind) => void silent.add(kind === 'A' ? typeA : typeAaaa),
    close: () => new Promise((closed) => socket.close(closed)),
  }
}

/** RFC 1035, 4.1.2: labels with their lengths before them, then the type and the class. */
function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  while (query[at] !== 0) {
    const length = query[at]!
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase())
    at += 1 + length
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function printAnswer(
  query: Buffer,
  end: number,
  type: number,
  addresses: readonly string[] | undefined,
): Buffer {
  const wanted = (addresses ?? [])
    .map((address) => Buffer.from(ipaddr.parse(address).toByteArray()))
    .filter((bytes) => type === (bytes.length === 4 ? typeA : type === typeAaaa ? typeAaaa : -1))
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(0x8180 | (addresses ? 0 : nameError), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(wanted.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, query.subarray(12, end), ...wanted.map((bytes) => printRecord(type, bytes))])
}

/** A pointer to the name of the question, the type, class IN, a life of no seconds, the address. */
function printRecord(type: number, bytes: Buffer): Buffer {
  const record = Buffer.alloc(12)
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(type, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt16BE(bytes.length, 10)
  return Buffer.concat([record, bytes])
}

/**
 * The certificate that a client has shown (RFC 8705): of its connection, or, where the operator allows it, as
 * a trusted proxy tells it (RFC 9440). Whether it says who the client is, is for others to judge: any
 * certificate is taken here.
 */
import { hash, type X509Certificate } from 'node:crypto'
import { BlockList, isIPv6 } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseCertificate } from '../crypto/certificate.ts'
import { Problem } from '../problem.ts'

export interface ClientCertificate {
  /** `x5t#S256`: SHA-256 of its DER, in base64url (RFC 8705, 3.1). */
  readonly thumbprint: string
  readonly certificate: X509Certificate
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whose Client-Cert header counts: nobody's unless the operator has said so. */
    certificateProxies: BlockList | undefined
  }
}

export function takeCertificates(app: FastifyInstance, proxies: readonly string[]): void {
  app.decorate('certificateProxies', proxies.length === 0 ? undefined : listOf(proxies))
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = familyOf(address)
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')

const known = new WeakMap<object, ClientCertificate>()

/** Throws when a proxy tells it in a way that can be read in none, or in several ways. */
export function certificateOf(request: FastifyRequest): ClientCertificate | undefined {
  const { socket } = request.raw
  // What such a proxy shows of its own is not its clients'.
  if (isFromProxy(request)) return readHeader(request)
  if (!(socket instanceof TLSSocket)) return undefined
  return remember(socket, () => socket.getPeerX509Certificate())
}

function isFromProxy({ server, raw }: FastifyRequest): boolean {
  const proxies = server.certificateProxies
  if (proxies === undefined) return false
  const { remoteAddress } = raw.socket
  return remoteAddress !== undefined && proxies.check(remoteAddress, familyOf(remoteAddress))
}

/** A header that came twice reads as one with a comma in it. */
const byteSequence = /^:([A-Za-z0-9+/]+={0,2}):$/

function readHeader({ raw }: FastifyRequest): ClientCertificate | undefined {
  const text = raw.headers['client-cert']
  if (text === undefined) return undefined
  const [, base64] = byteSequence.exec(String(text)) ?? []
  if (base64 === undefined) throw malformed()
  return remember(raw, () => {
    const certificate = parseCertificate(Buffer.from(base64, 'base64'))
    if (!certificate) throw malformed()
    return certificate
  })
}

function remember(bearer: object, read: () => X509Certificate | undefined): ClientCertificate | undefined {
  const before = known.get(bearer)
  if (before) return before
  const certificate = read()
  if (!certificate) return undefined
  const found = { certificate, thumbprint: thumbprintOf(certificate.raw) }
  known.set(bearer, found)
  return found
}

export function thumbprintOf(der: Uint8Array): string {
  return hash('sha256', der, 'base64url')
}

const malformed = () =>
  new Problem(
    400,
    'invalid_request',
    'The Client-Cert header is malformed. The proxy must send one certificate: its DER in base64, between colons (RFC 9440).',
  )

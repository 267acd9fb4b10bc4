/** What the operating system refused, in words: its own are for programmers. */
import { messageOf } from '../text/thrown.ts'

interface SystemError {
  readonly code: string
  readonly path?: string
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
}

const words: ReadonlyMap<string, (error: SystemError) => string> = new Map(
  Object.entries({
    ENOENT: ({ path }) => `There is no file ${path}.`,
    EACCES: ({ path, port }) =>
      path === undefined
        ? `This user may not use port ${port}: take one from 1024 on.`
        : `This user may not open ${path}.`,
    EPERM: ({ path }) => `This user may not change ${path ?? 'that'}.`,
    EISDIR: ({ path }) => `${path ?? 'That'} is a folder; name a file.`,
    ENOTDIR: ({ path }) => `${path} leads through something that is no folder.`,
    EROFS: ({ path }) => `${path} is on a disk that cannot be written.`,
    ENOSPC: () => 'The disk is full.',
    EMFILE: () => 'Too many files are open: raise the limit (ulimit -n).',
    EADDRINUSE: ({ port }) => `Port ${port} is taken by another program.`,
    EADDRNOTAVAIL: ({ address }) => `This machine has no address ${address}. Set HOST to one that it has.`,
    ECONNREFUSED: (error) => `Nothing answers at ${placeOf(error)}.`,
    ECONNRESET: (error) => `The connection to ${placeOf(error)} was cut.`,
    ETIMEDOUT: (error) => `${placeOf(error)} did not answer in time.`,
    UND_ERR_CONNECT_TIMEOUT: () => 'The other side did not answer in time.',
    UND_ERR_SOCKET: () => 'The other side closed the connection.',
    ENOTFOUND: ({ hostname }) => `There is no host called ${hostname}.`,
    EAI_AGAIN: ({ hostname }) => `The name ${hostname} could not be looked up: is the network there?`,
    SELF_SIGNED_CERT_IN_CHAIN: () => untrusted,
    DEPTH_ZERO_SELF_SIGNED_CERT: () => untrusted,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: () => untrusted,
    CERT_HAS_EXPIRED: () => 'The certificate of the other side has expired.',
    ERR_TLS_CERT_ALTNAME_INVALID: () => 'The certificate of the other side is for another name.',
  }),
)

const untrusted =
  'The certificate of the other side is not trusted here. NODE_EXTRA_CA_CERTS names a file with its authority.'

/** Of whatever was thrown. An error of ours says what it says. */
export function explain(thrown: unknown): string {
  const found = findSystemError(thrown)
  return found ? words.get(found.code)!(found) : messageOf(thrown)
}

/** Connecting to a name with several addresses fails with all their errors at once. */
function findSystemError(thrown: unknown): SystemError | undefined {
  if (thrown instanceof AggregateError) return thrown.errors.map(findSystemError).find(Boolean)
  if (!(thrown instanceof Error) || !('code' in thrown) || typeof thrown.code !== 'string') return undefined
  return words.has(thrown.code) ? (thrown as unknown as SystemError) : undefined
}

function placeOf({ address, port, path }: SystemError): string {
  if (address === undefined) return path ?? 'the other side'
  return `${address.includes(':') ? `[${address}]` : address}${port === undefined ? '' : `:${port}`}`
}

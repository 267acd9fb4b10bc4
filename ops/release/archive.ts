/**
 * A tar.gz that is the same bytes wherever and whenever it is made: entries in order of their names, one time
 * for all of them, no owners, and modes that come from no umask.
 */
import { gzipSync } from 'node:zlib'

export interface Entry {
  readonly path: string
  readonly bytes: Buffer
  readonly isProgram?: boolean
}

const block = 512
/** The time that npm gives every file of a package: 26 October 1985, 08:15. */
const timeSeconds = 499_162_500

export function makeArchive(entries: readonly Entry[]): Buffer {
  const sorted = entries.toSorted((one, other) => (one.path < other.path ? -1 : 1))
  const blocks = sorted.flatMap((entry) => [printHead(entry), entry.bytes, padding(entry.bytes.length)])
  const bytes = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * block)]), { level: 9 })
  // Which system made it: of no interest, and different on each.
  bytes[9] = 255
  return bytes
}

const padding = (length: number) => Buffer.alloc((block - (length % block)) % block)

/** POSIX ustar: what every tar reads. */
function printHead({ path, bytes, isProgram = false }: Entry): Buffer {
  const { name, prefix } = splitPath(path)
  const head = Buffer.alloc(block)
  head.write(name, 0)
  head.write(octal(isProgram ? 0o755 : 0o644, 7), 100)
  head.write(octal(0, 7), 108)
  head.write(octal(0, 7), 116)
  head.write(octal(bytes.length, 11), 124)
  head.write(octal(timeSeconds, 11), 136)
  head.write('        0', 148)
  head.write('ustar\u000000', 257)
  head.write(prefix, 345)
  head.write(`${octal(sumOf(head), 6)}\u0000`, 148)
  return head
}

const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
const sumOf = (head: Buffer) => head.reduce((sum, byte) => sum + byte, 0)

/** A name has 100 bytes, and 155 more for the folders before it. */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  const at = path.indexOf('/', Math.max(0, path.length - 101))
  const [prefix, name] = [path.slice(0, at), path.slice(at + 1)]
  if (at < 0 || Buffer.byteLength(prefix) > 155 || Buffer.byteLength(name) > 100)
    throw new Error(`"${path}" is too long for an archive.`)
  return { name, prefix }
}

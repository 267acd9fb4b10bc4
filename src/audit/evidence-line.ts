/**
 * The lines of an evidence file, each a JSON value of one of these kinds (docs/operating.md, “Evidence”). A
 * line counts only as it would be printed here: with other spaces, with a name twice or with one more it is
 * not a line of such a file.
 */
import { Invalid } from '../problem.ts'
import { isRecord, keysOf } from '../vocabulary/record-of.ts'
import type { BlockEntry } from './block.ts'
import { count, fits, hex, moment, orNull, type Shape, text } from './line-shape.ts'

export const evidenceVersion = 1

/** The first line. */
export interface OpeningLine {
  readonly kind: 'evidence'
  readonly version: typeof evidenceVersion
  readonly madeAt: string
  /** What was asked of the log. */
  readonly search: Readonly<Record<string, string>>
  /** Whose signatures these are. */
  readonly key: string
}

/** A run of blocks without a gap begins, behind the block with this hash. */
interface StretchLine {
  readonly kind: 'stretch'
  readonly previous: string
}

interface BlockLine {
  readonly kind: 'block'
  readonly position: number
  readonly size: number
  readonly root: string
}

/** An entry of the block above it. */
interface EntryLine {
  readonly kind: 'entry'
  readonly index: number
  readonly path: readonly string[]
  readonly entry: PrintedEntry
}

/** The block above it, signed: the stretch ends. */
interface HeadLine {
  readonly kind: 'head'
  readonly position: number
  readonly hash: string
  readonly at: string
  readonly signature: string
}

/** The last line: how many entries there are, and a signature over everything above it. */
interface ClosingLine {
  readonly kind: 'end'
  readonly entries: number
  readonly sha256: string
  readonly signature: string
}

export type EvidenceLine = OpeningLine | StretchLine | BlockLine | EntryLine | HeadLine | ClosingLine

interface PrintedEntry extends Omit<BlockEntry, 'at'> {
  readonly at: string
}

const entryShape: Shape = {
  ...{ id: count, at: moment, actor: text, action: text, subject: text },
  ...{ environment: orNull(text), address: orNull(text), requestId: orNull(text), details: text },
}
const entry = (value: unknown) => fits(value, entryShape)
const path = (value: unknown) => Array.isArray(value) && value.every(hex(32))
const search = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.values(value).every(text)
const key = (value: unknown) => typeof value === 'string' && /^[A-Za-z0-9_-]{43}$/.test(value)

const shapes: Readonly<Record<EvidenceLine['kind'], Shape>> = {
  evidence: { kind: text, version: (value) => value === evidenceVersion, madeAt: moment, search, key },
  stretch: { kind: text, previous: hex(32) },
  block: { kind: text, position: count, size: count, root: hex(32) },
  entry: { kind: text, index: count, path, entry },
  head: { kind: text, position: count, hash: hex(32), at: moment, signature: hex(64) },
  end: { kind: text, entries: count, sha256: hex(32), signature: hex(64) },
}

export function printLine(line: EvidenceLine): string {
  return `${JSON.stringify(line)}\n`
}

/** Undefined for what is no line of evidence. */
export function parseLine(printed: string): EvidenceLine | undefined {
  let value: unknown
  try {
    value = JSON.parse(printed)
  } catch {
    return undefined
  }
  const named = isRecord(value) ? value.kind : undefined
  const kind = keysOf(shapes).find((each) => each === named)
  return kind && fits(value, shapes[kind]) && JSON.stringify(value) === printed
    ? (value as unknown as EvidenceLine)
    : undefined
}

export function toPrinted({
  id,
  at,
  actor,
  action,
  subject,
  environment,
  address,
  requestId,
  details,
}: BlockEntry): PrintedEntry {
  return { id, at: at.toISOString(), actor, action, subject, environment, address, requestId, details }
}

export function toEntry(printed: PrintedEntry): BlockEntry {
  return { ...printed, at: new Date(printed.at) }
}

/** The public key that an auditor keeps: 43 characters of base64url. */
export function parsePublicKey(given: string): string {
  if (key(given)) return given
  throw new Invalid([
    { field: 'key', problem: 'must be the public key of the log, 43 characters of base64url' },
  ])
}

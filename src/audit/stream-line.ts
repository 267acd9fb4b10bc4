/**
 * The log as lines for those who listen to it (docs/audit.md): the entries of a block, the block that proves
 * them, and its signed head where there is one. An entry's details stand last, as PostgreSQL prints them,
 * because that is what its hash covers.
 */
import type { BlockEntry, ChainHead } from './block.ts'
import { parseLine } from './evidence-line.ts'
import { count, fits, hex, moment, orNull, type Shape, text } from './line-shape.ts'

export interface StreamedBlock extends ChainHead {
  readonly previous: Buffer
  readonly size: number
  readonly root: Buffer
  readonly entries: readonly BlockEntry[]
  /** Signed when it was the newest. */
  readonly head: { readonly at: Date; readonly signature: Buffer } | undefined
}

export function printEntryLine(block: number, index: number, { details, ...entry }: BlockEntry): string {
  const { id, at, actor, action, subject, environment, address, requestId } = entry
  const said = { id, at: at.toISOString(), actor, action, subject, environment, address, requestId }
  return `${beforeDetails({ kind: 'entry', block, index, ...said })}${details}}`
}

function beforeDetails(said: object): string {
  return `${JSON.stringify(said).slice(0, -1)},"details":`
}

export function printBlockLine({ position, previous, size, root, hash }: StreamedBlock): string {
  return JSON.stringify({
    ...{ kind: 'block', position, previous: previous.toString('hex'), size },
    ...{ root: root.toString('hex'), hash: hash.toString('hex') },
  })
}

/** Undefined where it is not signed. */
export function printHeadLine({ position, hash, head }: StreamedBlock): string | undefined {
  if (!head) return undefined
  const { at, signature } = head
  return JSON.stringify({
    ...{ kind: 'head', position, hash: hash.toString('hex') },
    ...{ at: at.toISOString(), signature: signature.toString('hex') },
  })
}

/** A line, and by what collectors sort it. */
export interface ToldLine {
  readonly kind: 'entry' | 'block' | 'head'
  readonly text: string
  /** `audit.block` and `audit.head` beside the actions of entries. */
  readonly name: string
  readonly at: Date | undefined
  readonly about: Readonly<Record<string, string | number | null>>
}

/** In the order in which they are told. */
export function linesOf(block: StreamedBlock): ToldLine[] {
  const { position, entries, size, head } = block
  const headText = printHeadLine(block)
  return [
    ...entries.map((entry, index): ToldLine => {
      const { id, at, actor, action, subject, environment, address, requestId } = entry
      const about = { block: position, index, id, actor, subject, environment, address, requestId }
      return { kind: 'entry', text: printEntryLine(position, index, entry), name: action, at, about }
    }),
    {
      kind: 'block',
      text: printBlockLine(block),
      name: 'audit.block',
      at: undefined,
      about: { block: position, size },
    },
    ...(headText !== undefined && head
      ? [
          {
            kind: 'head',
            text: headText,
            name: 'audit.head',
            at: head.at,
            about: { block: position },
          } as const,
        ]
      : []),
  ]
}

export function printLines(block: StreamedBlock): string[] {
  return linesOf(block).map(({ text }) => `${text}\n`)
}

interface EntryLine {
  readonly kind: 'entry'
  readonly block: number
  readonly index: number
  readonly entry: BlockEntry
}

interface BlockLine extends ChainHead {
  readonly kind: 'block'
  readonly previous: Buffer
  readonly size: number
  readonly root: Buffer
}

interface HeadLine extends ChainHead {
  readonly kind: 'head'
  readonly at: Date
  readonly signature: Buffer
}

const entryShape: Shape = {
  ...{
    kind: text,
    block: count,
    index: count,
    id: count,
    at: moment,
    actor: text,
    action: text,
    subject: text,
  },
  ...{ environment: orNull(text), address: orNull(text), requestId: orNull(text), details: () => true },
}
const blockShape: Shape = {
  ...{ kind: text, position: count, previous: hex(32), size: count, root: hex(32), hash: hex(32) },
}

/** Undefined for what is no line of the stream, letter for letter. */
export function parseStreamLine(printed: string): EntryLine | BlockLine | HeadLine | undefined {
  let value: unknown
  try {
    value = JSON.parse(printed)
  } catch {
    return undefined
  }
  const kind = (value as { kind?: unknown } | null)?.kind
  if (kind === 'entry') return readEntry(printed, value)
  if (kind === 'block') return readBlock(printed, value)
  const line = kind === 'head' ? parseLine(printed) : undefined
  if (line?.kind !== 'head') return undefined
  const { position, hash, at, signature } = line
  return { kind: 'head', position, hash: bytes(hash), at: new Date(at), signature: bytes(signature) }
}

function readEntry(printed: string, value: unknown): EntryLine | undefined {
  if (!fits(value, entryShape)) return undefined
  const { details: _, ...said } = value
  const before = beforeDetails(said)
  if (!printed.startsWith(before)) return undefined
  const { kind: __, block, index, at, ...entry } = said as unknown as Omit<EntryLine, 'entry'> & BlockEntry
  const details = printed.slice(before.length, -1)
  return { kind: 'entry', block, index, entry: { ...entry, at: new Date(at), details } }
}

function readBlock(printed: string, value: unknown): BlockLine | undefined {
  if (!fits(value, blockShape) || JSON.stringify(value) !== printed) return undefined
  const { position, previous, size, root, hash } = value as Record<string, string> & {
    position: number
    size: number
  }
  return {
    kind: 'block',
    ...{ position, size, previous: bytes(previous!), root: bytes(root!), hash: bytes(hash!) },
  }
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex, 'hex')
}

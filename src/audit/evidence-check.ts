/**
 * Whether a file of evidence proves what it says, by the file alone: every entry leads to its block, every
 * block to the next, the last of them to a head that was signed, and the last line covers them all. Read line
 * by line; what is wrong in one stretch leaves the others good.
 */
import { createHash } from 'node:crypto'
import { type BlockEntry, type ChainHead, hashBlock, hashEntry, printHead } from './block.ts'
import { type EvidenceLine, type OpeningLine, parseLine, toEntry } from './evidence-line.ts'
import { isSignedBy, printSignedFile, printSignedHead } from './head-signer.ts'
import { followPath } from './merkle.ts'

interface ProvenHead extends ChainHead {
  readonly at: string
}

interface EvidenceReport {
  readonly opening: OpeningLine | undefined
  /** Up to which signed head each is proven. */
  readonly proven: readonly {
    readonly entry: BlockEntry
    readonly block: number
    readonly head: ProvenHead
  }[]
  /** In sentences, each with its line. */
  readonly problems: readonly string[]
  /** The heads that it goes through, signed or not. */
  passes(head: ChainHead): 'yes' | 'no' | 'unknown'
}

interface Expectation {
  /** Whose signatures count; those of the key that the file names, unless given. */
  readonly key?: string | undefined
}

interface Stretch {
  position: number
  hash: Buffer
  block: { readonly size: number; readonly root: Buffer } | undefined
  /** Of the entry before in the same block. */
  index: number
  isGood: boolean
  readonly entries: { readonly entry: BlockEntry; readonly block: number }[]
}

class EvidenceFault extends Error {}

export async function checkEvidence(
  lines: AsyncIterable<string>,
  expectation: Expectation = {},
): Promise<EvidenceReport> {
  const check = openCheck(expectation)
  let number = 0
  for await (const line of lines) check.read(line, ++number)
  return check.close()
}

function openCheck({ key: expectedKey }: Expectation) {
  const problems: string[] = []
  const proven: { entry: BlockEntry; block: number; head: ProvenHead }[] = []
  const hashes = new Map<number, string>()
  const above = createHash('sha256')
  let opening: OpeningLine | undefined
  let stretch: Stretch | undefined
  let highest = 0
  let entries = 0
  let hasEnded = false

  const inside = (): Stretch => {
    if (!stretch) throw new EvidenceFault('it stands outside of any stretch of blocks')
    return stretch
  }
  const key = () => expectedKey ?? opening?.key ?? ''

  const takers: { [Kind in EvidenceLine['kind']]: (line: Extract<EvidenceLine, { kind: Kind }>) => void } = {
    evidence(line) {
      if (opening) throw new EvidenceFault('the file begins a second time')
      opening = line
      if (expectedKey !== undefined && line.key !== expectedKey)
        throw new EvidenceFault(`it is signed by another key (${line.key}) than the one you gave`)
    },
    stretch({ previous }) {
      if (stretch) throw new EvidenceFault('the stretch before has no signed head')
      const hash = Buffer.from(previous, 'hex')
      stretch = { position: 0, hash, block: undefined, index: -1, isGood: true, entries: [] }
    },
    block({ position, size, root }) {
      const now = inside()
      const isNext = now.block ? position === now.position + 1 : position > highest
      if (!isNext)
        throw new EvidenceFault(
          `block ${position} does not follow on block ${now.block ? now.position : highest}`,
        )
      if (size === 0) throw new EvidenceFault(`block ${position} is empty`)
      now.position = highest = position
      now.block = { size, root: Buffer.from(root, 'hex') }
      now.hash = hashBlock(position, now.hash, size, now.block.root)
      now.index = -1
      if (now.isGood) hashes.set(position, now.hash.toString('hex'))
    },
    entry({ index, path, entry: printed }) {
      entries++
      const now = inside()
      const entry = toEntry(printed)
      if (!now.block) throw new EvidenceFault(`entry ${entry.id} stands before any block`)
      if (index <= now.index)
        throw new EvidenceFault(`entry ${entry.id} is not in its place in block ${now.position}`)
      now.index = index
      const steps = path.map((each) => Buffer.from(each, 'hex'))
      const isInside = index < now.block.size
      const root = isInside ? followPath(hashEntry(entry), index, now.block.size, steps) : undefined
      if (!root?.equals(now.block.root))
        throw new EvidenceFault(`entry ${entry.id} is not the one that block ${now.position} holds`)
      now.entries.push({ entry, block: now.position })
    },
    head({ position, hash, at, signature }) {
      const now = inside()
      stretch = undefined
      const head = { position, hash: Buffer.from(hash, 'hex'), at }
      if (!isSignedBy(key(), printSignedHead(head, new Date(at)), Buffer.from(signature, 'hex')))
        throw new EvidenceFault(`the head at block ${position} was not signed by the key ${key()}`)
      if (position !== now.position || !head.hash.equals(now.hash))
        throw new EvidenceFault(`the blocks before it do not lead to the head at block ${position}`)
      if (now.isGood) proven.push(...now.entries.map((each) => ({ ...each, head })))
    },
    end({ entries: counted, sha256, signature }) {
      hasEnded = true
      if (stretch) throw new EvidenceFault('the last stretch has no signed head')
      if (counted !== entries) throw new EvidenceFault(`the file had ${counted} entries and has ${entries}`)
      if (sha256 !== above.digest('hex'))
        throw new EvidenceFault('the file is not as it was exported: lines were changed, removed or added')
      if (!isSignedBy(key(), printSignedFile(sha256), Buffer.from(signature, 'hex')))
        throw new EvidenceFault(`the file was not signed by the key ${key()}`)
    },
  }

  const take = (line: EvidenceLine | undefined, number: number) => {
    if (hasEnded) throw new EvidenceFault('it stands behind the end')
    if (!line) throw new EvidenceFault('it is no line of evidence')
    if (number === 1 && line.kind !== 'evidence') throw new EvidenceFault('the file has no beginning')
    const taker = takers[line.kind] as (line: EvidenceLine) => void
    taker(line)
  }

  return {
    read(text: string, number: number): void {
      const line = parseLine(text)
      try {
        take(line, number)
      } catch (error) {
        if (!(error instanceof EvidenceFault)) throw error
        problems.push(`Line ${number}: ${error.message}.`)
        // An entry that is wrong leaves the chain as it is, and with it the entries beside it.
        if (stretch && line?.kind !== 'entry') stretch.isGood = false
      }
      if (!hasEnded) above.update(`${text}\n`)
    },
    close(): EvidenceReport {
      if (!hasEnded) problems.push('The end of the file is missing.')
      return {
        ...{ opening, proven, problems },
        passes(head) {
          const found = hashes.get(head.position)
          if (found === undefined) return 'unknown'
          return `${head.position}:${found}` === printHead(head) ? 'yes' : 'no'
        },
      }
    },
  }
}

/**
 * Whether lines that a listener kept are the log, by themselves: every entry is under the root of its block,
 * every block follows on the one before, and heads are signed. What came twice counts once, because a listener
 * hears everything at least once.
 */
import { type ChainHead, genesis, hashBlock, hashEntry, printHead } from './block.ts'
import { isSignedBy, printSignedHead } from './head-signer.ts'
import { hashTree } from './merkle.ts'
import { parseStreamLine } from './stream-line.ts'

export interface StreamReport {
  readonly entries: number
  readonly first: number | undefined
  readonly head: ChainHead | undefined
  /** The newest head with a good signature. */
  readonly signed: (ChainHead & { readonly at: Date }) | undefined
  /** Blocks that came more than once, all the same. */
  readonly repeated: number
  /** Entries at the end whose block has not come. */
  readonly unproven: number
  /** In sentences, each with its line. */
  readonly problems: readonly string[]
  passes(head: ChainHead): 'yes' | 'no' | 'unknown'
}

type Line<Kind> = Extract<NonNullable<ReturnType<typeof parseStreamLine>>, { kind: Kind }>

class StreamFault extends Error {}

/** `key`: whose signatures count. */
export async function checkStream(
  lines: AsyncIterable<string>,
  key: string | undefined,
): Promise<StreamReport> {
  const check = openCheck(key)
  let number = 0
  for await (const line of lines) check.read(line, ++number)
  return check.close()
}

function openCheck(key: string | undefined) {
  const problems: string[] = []
  const hashes = new Map<number, Buffer>()
  let pending: Buffer[] = []
  let pendingBlock = 0
  let first: number | undefined
  let head: ChainHead | undefined
  let signed: StreamReport['signed']
  let entries = 0
  let repeated = 0

  function takeEntry({ block, index, entry }: Line<'entry'>): void {
    // A connection that broke within a block begins it again.
    if (index === 0) pending = []
    if (index !== pending.length || (index > 0 && block !== pendingBlock))
      throw new StreamFault(`entry ${entry.id} is not in its place in block ${block}`)
    pendingBlock = block
    pending.push(hashEntry(entry))
  }

  function takeBlock({ position, previous, size, root, hash }: Line<'block'>): void {
    const leaves = pending
    const ofBlock = pendingBlock
    pending = []
    if (size === 0 || leaves.length !== size || ofBlock !== position)
      throw new StreamFault(`block ${position} has ${size} entries, and ${leaves.length} came`)
    if (!hashTree(leaves).equals(root) || !hashBlock(position, previous, size, root).equals(hash))
      throw new StreamFault(`the entries of block ${position} are not those that it holds`)
    const known = hashes.get(position)
    if (known) {
      if (!known.equals(hash)) throw new StreamFault(`block ${position} came twice, and not the same`)
      repeated++
      return
    }
    const before = head ?? (position === 1 ? genesis : { position: position - 1, hash: previous })
    if (position !== before.position + 1)
      throw new StreamFault(`block ${position} does not follow on block ${before.position}`)
    if (!previous.equals(before.hash))
      throw new StreamFault(`block ${position} follows on another block ${before.position} than came`)
    hashes.set(position, hash)
    first ??= position
    head = { position, hash }
    entries += size
  }

  function takeHead({ position, hash, at, signature }: Line<'head'>): void {
    if (!hashes.get(position)?.equals(hash))
      throw new StreamFault(`the head at block ${position} is not that of the block that came`)
    if (key === undefined) return
    if (!isSignedBy(key, printSignedHead({ position, hash }, at), signature))
      throw new StreamFault(`the head at block ${position} was not signed by the key ${key}`)
    if (!signed || signed.position < position) signed = { position, hash, at }
  }

  return {
    read(text: string, number: number): void {
      const line = parseStreamLine(text)
      try {
        if (!line) throw new StreamFault('it is no line of the audit log')
        if (line.kind === 'entry') takeEntry(line)
        else if (line.kind === 'block') takeBlock(line)
        else takeHead(line)
      } catch (error) {
        if (!(error instanceof StreamFault)) throw error
        problems.push(`Line ${number}: ${error.message}.`)
      }
    },
    close(): StreamReport {
      return {
        ...{ entries, first, head, signed, repeated, unproven: pending.length, problems },
        passes(anchor) {
          const found = hashes.get(anchor.position)
          if (!found) return 'unknown'
          return printHead({ position: anchor.position, hash: found }) === printHead(anchor) ? 'yes' : 'no'
        },
      }
    },
  }
}

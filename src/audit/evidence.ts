/**
 * Entries with the proof that they stand in the log: from each entry a path of hashes to the root of its
 * block, from there the links of the chain to the next head that was signed. Of other entries nothing is
 * shown. The last line signs the whole, so that a line taken out shows too.
 */
import { createHash } from 'node:crypto'
import type { Sql } from '../database/database.ts'
import { Conflict } from '../problem.ts'
import type { AnchorDependencies } from './anchor.ts'
import { compareAnchors } from './anchor-check.ts'
import { type BlockEntry, hashBlock, hashEntry } from './block.ts'
import { findBlocksOf } from './block-search.ts'
import { selectBlock, selectEntries, selectHash } from './blocks.sql.ts'
import { findHead, sealAll } from './chain.ts'
import { type EvidenceLine, evidenceVersion, printLine, toPrinted } from './evidence-line.ts'
import {
  type HeadSigner,
  isSignedBy,
  openHeadSigner,
  printSignedFile,
  printSignedHead,
  signHead,
} from './head-signer.ts'
import { selectHeadFrom, selectLinks } from './heads.sql.ts'
import { findPath, hashTree } from './merkle.ts'

const linksAtOnce = 1_000

const changed = 'The audit log is not as it was written. Verify the chain before you export evidence.'

interface EvidenceRequest {
  /** Of the entries that were chosen. */
  readonly ids: readonly number[]
  readonly search: Readonly<Record<string, string>>
}

/**
 * The file, piece by piece. What is not as it was written is refused, and what was sent by then has no end.
 */
export async function* printEvidence(
  { db, vault, clock, file }: Omit<AnchorDependencies, 'log'>,
  { ids, search }: EvidenceRequest,
): AsyncGenerator<string> {
  const now = clock.now()
  const written = file === undefined ? undefined : await compareAnchors(db, vault, file)
  if (written && written.problems.length > 0) throw new Conflict(changed)
  const signer = await openHeadSigner(db, vault)
  await sealAll(db, now, 'wait')
  await signHead(db, signer, await findHead(db), now)
  const digest = createHash('sha256')
  const print = (line: EvidenceLine) => {
    const printed = printLine(line)
    digest.update(printed)
    return printed
  }
  const { publicKey: key } = signer
  yield print({ kind: 'evidence', version: evidenceVersion, madeAt: now.toISOString(), search, key })
  let entries = 0
  for await (const line of listLines(db, signer, await findBlocksOf(db, ids))) {
    if ('entry' in line) entries++
    yield print(line)
  }
  if (entries !== ids.length) throw new Conflict(changed)
  const sha256 = digest.digest('hex')
  yield printLine({
    kind: 'end',
    entries,
    sha256,
    signature: signer.sign(printSignedFile(sha256)).toString('hex'),
  })
}

async function* listLines(db: Sql, signer: HeadSigner, chosen: ReadonlyMap<number, readonly number[]>) {
  let reached = 0
  for (const position of [...chosen.keys()].sort((one, other) => one - other)) {
    if (position <= reached) continue
    const head = await getHead(db, signer, position)
    yield* listStretch(db, position, head, chosen)
    reached = head.position
  }
}

interface SignedHead {
  readonly position: number
  readonly at: Date
  readonly signature: Buffer
  readonly hash: Buffer
}

/** The next one that was signed: another than the chain has today means that the chain was rewritten. */
async function getHead(sql: Sql, { publicKey }: HeadSigner, from: number): Promise<SignedHead> {
  const [head] = await sql.query(selectHeadFrom, { from })
  const [block] = head ? await sql.query(selectHash, { position: head.position }) : []
  if (!head || !block) throw new Conflict(changed)
  const said = printSignedHead({ position: head.position, hash: block.hash }, head.at)
  if (!isSignedBy(publicKey, said, head.signature)) throw new Conflict(changed)
  return { ...head, hash: block.hash }
}

interface Link {
  readonly position: number
  readonly size: number
  readonly root: Buffer
  readonly hash: Buffer
}

async function* readLinks(sql: Sql, from: number, to: number): AsyncGenerator<Link> {
  for (let next = from; next <= to; next += linksAtOnce)
    yield* await sql.query(selectLinks, { from: next, to, most: linksAtOnce })
}

async function* listStretch(
  sql: Sql,
  from: number,
  head: SignedHead,
  chosen: ReadonlyMap<number, readonly number[]>,
): AsyncGenerator<EvidenceLine> {
  let previous = await getHashBefore(sql, from)
  yield { kind: 'stretch', previous: previous.toString('hex') }
  let position = from - 1
  for await (const link of readLinks(sql, from, head.position)) {
    const { size, root, hash } = link
    if (link.position !== ++position || !hashBlock(position, previous, size, root).equals(hash))
      throw new Conflict(changed)
    yield { kind: 'block', position, size, root: root.toString('hex') }
    const ids = chosen.get(position)
    if (ids) yield* await listEntries(sql, position, root, ids)
    previous = hash
  }
  if (position !== head.position) throw new Conflict(changed)
  const { at, signature } = head
  yield {
    ...{ kind: 'head', position, hash: previous.toString('hex') },
    ...{ at: at.toISOString(), signature: signature.toString('hex') },
  }
}

async function getHashBefore(sql: Sql, position: number): Promise<Buffer> {
  if (position === 1) return Buffer.alloc(32)
  const [before] = await sql.query(selectHash, { position: position - 1 })
  if (!before) throw new Conflict(changed)
  return before.hash
}

async function readEntries(sql: Sql, position: number): Promise<BlockEntry[]> {
  const [block] = await sql.query(selectBlock, { position })
  return block ? sql.query(selectEntries, { ids: block.entryIds }) : []
}

async function listEntries(
  sql: Sql,
  position: number,
  root: Buffer,
  ids: readonly number[],
): Promise<EvidenceLine[]> {
  const all = await readEntries(sql, position)
  const leaves = all.map(hashEntry)
  if (leaves.length === 0 || !hashTree(leaves).equals(root)) throw new Conflict(changed)
  return all.flatMap((entry, index) => {
    if (!ids.includes(entry.id)) return []
    const path = findPath(leaves, index).map((each) => each.toString('hex'))
    return [{ kind: 'entry', index, path, entry: toPrinted(entry) } as const]
  })
}

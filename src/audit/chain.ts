/**
 * The chain over the audit log. Entries commit with the act they tell of, in any order and in parallel; once
 * a second a node gathers those that no block holds yet into the next block. A block's hash covers its
 * entries in order and the hash before it (a hash chain), so that changing, removing or inserting an entry
 * breaks every later block.
 */
import { advisoryLocks } from '../database/advisory-locks.ts'
import type { Sql } from '../database/database.ts'
import { type BlockEntry, type ChainHead, genesis, hashBlock, hashEntry } from './block.ts'
import * as table from './blocks.sql.ts'
import { hashTree } from './merkle.ts'

const blockSize = 1_000

/** Another node is at it: leave it to that one, or wait until it has done. */
type LockMode = 'leave' | 'wait'

/**
 * Answers how many entries it sealed; 0 when there are none or it was left to another node (a leader lock).
 */
export function sealBlock(db: Sql, now: Date, lockMode: LockMode = 'leave'): Promise<number> {
  return db.transaction(async (sql) => {
    const take = lockMode === 'wait' ? table.lock : table.tryLock
    const [lock] = await sql.query(take, { lock: advisoryLocks.auditChain })
    if (!lock?.locked) return 0
    const entries = await sql.query(table.takeUnsealed, { most: blockSize })
    if (entries.length === 0) return 0
    const head = await findHead(sql)
    const position = head.position + 1
    const ids = entries.map((entry) => entry.id)
    const root = hashTree(entries.map(hashEntry))
    await sql.query(table.insertBlock, {
      position,
      entryIds: ids,
      hash: hashBlock(position, head.hash, ids.length, root),
      sealedAt: now,
      root,
    })
    return entries.length
  })
}

export async function sealAll(db: Sql, now: Date, lockMode?: LockMode): Promise<void> {
  while ((await sealBlock(db, now, lockMode)) > 0);
}

export async function findHead(sql: Sql): Promise<ChainHead> {
  const [head] = await sql.query(table.selectHead)
  return head ?? genesis
}

/**
 * Whether the chain of today still goes through a head of an earlier day: nothing up to it was removed or
 * rewritten.
 */
export async function containsHead(sql: Sql, { position, hash }: ChainHead): Promise<boolean> {
  const [block] = await sql.query(table.selectHash, { position })
  const found = position === 0 ? genesis.hash : block?.hash
  return found?.equals(hash) ?? false
}

export type Verification =
  | { readonly kind: 'intact'; readonly entries: number; readonly head: ChainHead }
  | { readonly kind: 'broken'; readonly position: number; readonly problem: string }

/** Walks the whole chain. `progress` hears the position after each block. */
export async function verifyChain(
  db: Sql,
  now: Date,
  progress: (position: number) => void = () => {},
): Promise<Verification> {
  await sealAll(db, now)
  let head = genesis
  let entries = 0
  for (;;) {
    const position = head.position + 1
    const [block] = await db.query(table.selectBlock, { position })
    if (!block) {
      // The log may have grown since; a gap is one that is still there behind a newer head.
      const newest = await findHead(db)
      if (newest.position === head.position) break
      const [late] = await db.query(table.selectBlock, { position })
      if (late) continue
      return { kind: 'broken', position, problem: `block ${position} is missing` }
    }
    const stored = await db.query(table.selectEntries, { ids: block.entryIds })
    if (stored.length !== block.entryIds.length) {
      const missing = block.entryIds.filter((id) => !stored.some((entry) => entry.id === id))
      return { kind: 'broken', position, problem: `entry ${missing.join(', ')} is missing` }
    }
    if (!isWhole(position, head.hash, block, stored)) {
      const range = `${block.entryIds[0]} to ${block.entryIds.at(-1)}`
      return {
        kind: 'broken',
        position,
        problem: `an entry of ${range} was changed, or the block before it was`,
      }
    }
    head = { position, hash: block.hash }
    entries += stored.length
    progress(position)
  }
  const count = await db.one(table.countLoose)
  if (count.loose !== 0) {
    return {
      kind: 'broken',
      position: head.position,
      problem: 'the log holds entries that no block accounts for',
    }
  }
  return { kind: 'intact', entries, head }
}

interface StoredBlock {
  readonly hash: Buffer
  readonly root: Buffer
}

function isWhole(
  position: number,
  previous: Buffer,
  block: StoredBlock,
  entries: readonly BlockEntry[],
): boolean {
  const { root, hash } = block
  return (
    hashTree(entries.map(hashEntry)).equals(root) &&
    hashBlock(position, previous, entries.length, root).equals(hash)
  )
}

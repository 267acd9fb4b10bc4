/**
 * The chain over the audit log. Entries commit with the act they tell of, in any order and in parallel; once a second a
 * node gathers those that no block holds yet into the next block. A block's hash covers its entries in order and the hash
 * before it (a hash chain), so that changing, removing or inserting an entry breaks every later block.
 */
import { createHash } from 'node:crypto'
import { advisoryLocks } from '../database/advisory-locks.ts'
import type { Database, Sql } from '../database/database.ts'
import { Invalid } from '../problem.ts'
import type { AuditEntry } from './audit.ts'
import * as table from './blocks.sql.ts'

const blockSize = 1_000

export interface ChainHead {
  readonly position: number
  readonly hash: Buffer
}

export const genesis: ChainHead = { position: 0, hash: Buffer.alloc(32) }

type StoredEntry = AuditEntry & { readonly detailsText: string }

/** Answers how many entries it sealed; 0 when there are none or another node is at it (a leader lock). */
export function sealBlock(db: Database, now: Date): Promise<number> {
  return db.transaction(async (sql) => {
    const [lock] = await sql.query<{ locked: boolean }>(table.tryLock, [advisoryLocks.auditChain])
    if (!lock?.locked) return 0
    const entries = await sql.query<StoredEntry>(table.takeUnsealed, [blockSize])
    if (entries.length === 0) return 0
    const head = await findHead(sql)
    const ids = entries.map((entry) => entry.id)
    await sql.query(table.insertBlock, [head.position + 1, ids, hashBlock(head.hash, entries), now])
    return entries.length
  })
}

export async function sealAll(db: Database, now: Date): Promise<void> {
  while ((await sealBlock(db, now)) > 0);
}

export async function findHead(sql: Sql): Promise<ChainHead> {
  const [head] = await sql.query<ChainHead>(table.selectHead)
  return head ?? genesis
}

export function printHead({ position, hash }: ChainHead): string {
  return `${position}:${hash.toString('hex')}`
}

/** A head as an earlier verification printed it. */
export function parseHead(text: string): ChainHead {
  const [, position, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (position === undefined || hash === undefined)
    throw new Invalid([{ field: 'anchor', problem: 'must be a head as an earlier run printed it, POSITION:HASH' }])
  return { position: Number(position), hash: Buffer.from(hash, 'hex') }
}

/** Whether the chain of today still goes through a head of an earlier day: nothing up to it was removed or rewritten. */
export async function containsHead(sql: Sql, { position, hash }: ChainHead): Promise<boolean> {
  const [block] = await sql.query<{ hash: Buffer }>(table.selectHash, [position])
  const found = position === 0 ? genesis.hash : block?.hash
  return found?.equals(hash) ?? false
}

export type Verification =
  | { readonly kind: 'intact'; readonly entries: number; readonly head: ChainHead }
  | { readonly kind: 'broken'; readonly position: number; readonly problem: string }

/** Walks the whole chain. `progress` hears the position after each block. */
export async function verifyChain(
  db: Database,
  now: Date,
  progress: (position: number) => void = () => {},
): Promise<Verification> {
  await sealAll(db, now)
  let head = genesis
  let entries = 0
  for (;;) {
    const position = head.position + 1
    const [block] = await db.query<{ entryIds: number[]; hash: Buffer }>(table.selectBlock, [position])
    if (!block) {
      // The log may have grown since; a gap is one that is still there behind a newer head.
      const newest = await findHead(db)
      if (newest.position === head.position) break
      const [late] = await db.query(table.selectBlock, [position])
      if (late) continue
      return { kind: 'broken', position, problem: `block ${position} is missing` }
    }
    const stored = await db.query<StoredEntry>(table.selectEntries, [block.entryIds])
    if (stored.length !== block.entryIds.length) {
      const missing = block.entryIds.filter((id) => !stored.some((entry) => entry.id === id))
      return { kind: 'broken', position, problem: `entry ${missing.join(', ')} is missing` }
    }
    if (!hashBlock(head.hash, stored).equals(block.hash)) {
      const range = `${block.entryIds[0]} to ${block.entryIds.at(-1)}`
      return { kind: 'broken', position, problem: `an entry of ${range} was changed, or the block before it was` }
    }
    head = { position, hash: block.hash }
    entries += stored.length
    progress(position)
  }
  const [count] = await db.query<{ loose: number }>(table.countLoose)
  if (Number(count?.loose) !== 0) {
    return { kind: 'broken', position: head.position, problem: 'the log holds entries that no block accounts for' }
  }
  return { kind: 'intact', entries, head }
}

function hashBlock(previous: Buffer, entries: readonly StoredEntry[]): Buffer {
  const hash = createHash('sha256').update(previous)
  for (const entry of entries) hash.update(printForHash(entry)).update('\n')
  return hash.digest()
}

function printForHash(entry: StoredEntry): string {
  const { id, at, actor, action, subject, environment, address, requestId, detailsText } = entry
  return JSON.stringify([id, at.getTime(), actor, action, subject, environment, address, requestId, detailsText])
}

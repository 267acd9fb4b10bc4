/**
 * Whether the chain still goes through every head that was written down: what is missing shows, and since
 * when.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import { codeOf } from '../text/thrown.ts'
import { type Anchor, parseAnchor } from './anchor.ts'
import { findAnchorKey } from './anchor-key.ts'
import { genesis, printHead } from './block.ts'
import { selectHashes } from './blocks.sql.ts'
import { findHead } from './chain.ts'

export interface AnchorReport {
  readonly file: string
  /** Those that this log wrote. */
  readonly anchors: number
  readonly newest: Anchor | undefined
  /** Half lines, as a crash may leave them. */
  readonly unreadable: number
  /** In sentences. */
  readonly problems: readonly string[]
}

const batchSize = 1_000
interface Tally {
  anchors: number
  unreadable: number
  forged: number
  newest: Anchor | undefined
  /** The first that the chain does not go through, and the last one beyond its end. */
  rewritten: Anchor | undefined
  removed: Anchor | undefined
}

/** Undefined where there is no such file. */
export async function compareAnchors(
  sql: Sql,
  vault: Vault,
  file: string,
): Promise<AnchorReport | undefined> {
  const key = await findAnchorKey(sql, vault)
  const tally: Tally = {
    ...{ anchors: 0, unreadable: 0, forged: 0 },
    ...{ newest: undefined, rewritten: undefined, removed: undefined },
  }
  let batch: Anchor[] = []
  try {
    for await (const line of readLines(file)) {
      const anchor = parseAnchor(key, line)
      if (anchor === 'unreadable') tally.unreadable++
      else if (anchor === 'forged') tally.forged++
      else batch.push(anchor)
      if (batch.length === batchSize) {
        await judge(sql, batch, tally)
        batch = []
      }
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  await judge(sql, batch, tally)
  const { anchors, newest, unreadable } = tally
  return {
    file,
    anchors,
    newest,
    unreadable,
    problems: describe(file, tally, (await findHead(sql)).position),
  }
}

async function* readLines(file: string): AsyncGenerator<string> {
  const input = createReadStream(file, 'utf8')
  for await (const line of createInterface({ input })) if (line.trim() !== '') yield line.trim()
}

/** The file was read before the database is asked: a block is older than its anchor. */
async function judge(sql: Sql, batch: readonly Anchor[], tally: Tally): Promise<void> {
  if (batch.length === 0) return
  const positions = batch.map(({ head }) => head.position)
  const rows = await sql.query(selectHashes, { positions })
  const hashes = new Map([[0, genesis.hash], ...rows.map(({ position, hash }) => [position, hash] as const)])
  for (const anchor of batch) {
    const { position, hash } = anchor.head
    const found = hashes.get(position)
    tally.anchors++
    if (position >= (tally.newest?.head.position ?? 0)) tally.newest = anchor
    if (found && !found.equals(hash)) tally.rewritten ??= anchor
    else if (!found && position >= (tally.removed?.head.position ?? 0)) tally.removed = anchor
  }
}

function describe(file: string, { rewritten, removed, forged }: Tally, head: number): string[] {
  const problems: string[] = []
  if (removed)
    problems.push(
      `The log ends with block ${head}, but had block ${removed.head.position} at ${removed.at}: what came after block ${Math.min(head, removed.head.position - 1)} was removed`,
    )
  if (rewritten)
    problems.push(
      `Block ${rewritten.head.position} is not the one that the log had at ${rewritten.at} (${printHead(rewritten.head)}): entries up to it were removed or rewritten`,
    )
  if (forged > 0)
    problems.push(
      `${forged === 1 ? 'One line' : `${forged} lines`} of ${file} were not written by this log: somebody changed the file, or it is that of another database`,
    )
  return problems
}

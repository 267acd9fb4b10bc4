/**
 * The log in the order of its chain, for those who listen: block after block, each once it is sealed. A block
 * commits after all before it, so that no entry comes late: whoever has heard up to a block has heard all.
 */
import type { Sql } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { type ChainHead, genesis, parseHead, printHead } from './block.ts'
import { selectEntries, selectHash } from './blocks.sql.ts'
import { findHead } from './chain.ts'
import { type HeadSigner, printSignedHead } from './head-signer.ts'
import { selectBlocksAfter } from './stream.sql.ts'
import type { StreamedBlock } from './stream-line.ts'

const blocksAtOnce = 200
/** As many as one block holds at most. */
const entriesAtOnce = 1_000

/** A position, as a number or as a head of the chain: `17`, `17:HASH`. */
export const positionPattern = '^\\d{1,15}(:[0-9a-f]{64})?$'

/** Where a listener goes on. One that names a head that the chain does not go through has heard another log. */
export async function findStart(sql: Sql, told: string): Promise<ChainHead> {
  const heard = told.includes(':') ? parseHead(told) : { position: parsePosition(told), hash: undefined }
  const found =
    heard.position === 0 ? genesis.hash : (await sql.query(selectHash, { position: heard.position }))[0]?.hash
  if (found && (heard.hash === undefined || heard.hash.equals(found)))
    return { position: heard.position, hash: found }
  const head = await findHead(sql)
  throw new Conflict(
    `The log does not go through ${told}; its newest block is ${printHead(head)}. It was restored to an earlier moment, cut or rewritten since: compare before you go on.`,
  )
}

function parsePosition(text: string): number {
  if (new RegExp(positionPattern).test(text)) return Number(text)
  throw new Invalid([{ field: 'after', problem: 'must be a position, POSITION or POSITION:HASH' }])
}

/** The next blocks; none when there are none yet. The newest of the log leaves signed. */
export async function readOn(
  sql: Sql,
  signer: HeadSigner,
  after: ChainHead,
  now: Date,
): Promise<StreamedBlock[]> {
  const rows = await sql.query(selectBlocksAfter, {
    ...{ after: after.position, most: blocksAtOnce, entries: entriesAtOnce },
  })
  const last = rows.at(-1)
  if (!last) return []
  const ids = rows.flatMap(({ entryIds }) => entryIds)
  const entries = new Map((await sql.query(selectEntries, { ids })).map((entry) => [entry.id, entry]))
  const newest = await findHead(sql)
  return rows.map(({ position, hash, root, entryIds, at, signature }, place) => ({
    ...{ position, hash, root, size: entryIds.length },
    previous: rows[place - 1]?.hash ?? after.hash,
    entries: entryIds.flatMap((id) => entries.get(id) ?? []),
    head:
      at && signature
        ? { at, signature }
        : position === newest.position
          ? { at: now, signature: signer.sign(printSignedHead({ position, hash }, now)) }
          : undefined,
  }))
}

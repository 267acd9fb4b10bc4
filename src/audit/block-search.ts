/**
 * Which block holds an entry. No index leads from entries to blocks: they are nearly in the same order, so
 * each is found by a guess and a look around it.
 */
import type { Sql } from '../database/database.ts'
import { guessPosition, selectHolding } from './heads.sql.ts'

/** How far around the guess: what was committed long after it got its number is in a later block. */
const looksAround = [64, 2_048, 65_536] as const
/** So many of those that come next are looked for in passing. */
const soughtAtOnce = 200

/**
 * By the position of each block, the entries of `ids` that it holds. What no block is found for is in none of
 * them.
 */
export async function findBlocksOf(sql: Sql, ids: readonly number[]): Promise<Map<number, number[]>> {
  const sought = new Set(ids)
  const found = new Map<number, number[]>()
  for (const [place, id] of ids.entries()) {
    if (!sought.has(id)) continue
    const near = ids.slice(place, place + soughtAtOnce).filter((each) => sought.has(each))
    const guess = await sql.one(guessPosition, { entryId: id })
    for (const around of looksAround) {
      if (!sought.has(id)) break
      const [low, high] = [guess.position - around, guess.position + around]
      const blocks = await sql.query(selectHolding, { low, high, entryIds: near })
      for (const { position, entryIds } of blocks) {
        const held = entryIds.filter((each) => sought.delete(each))
        if (held.length > 0) found.set(position, held)
      }
    }
    sought.delete(id)
  }
  return found
}

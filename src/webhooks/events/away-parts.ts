/**
 * Where parts lie on other servers, one may be away while the others go on. What is asked of all parts says
 * which did not answer: their silence is not "nothing waits".
 */
import { DatabaseUnavailable, type Sql } from '../../database/database.ts'
import { findPart } from './layout.sql.ts'
import { allParts, isDistributed } from './part.ts'

/** Outside of a transaction. */
export async function findAwayParts(sql: Sql): Promise<number[]> {
  if (!isDistributed()) return []
  const away: number[] = []
  for (const part of allParts) if (!(await answers(sql, part))) away.push(part)
  return away
}

export async function findPresentParts(sql: Sql): Promise<readonly number[]> {
  const away = new Set(await findAwayParts(sql))
  return allParts.filter((part) => !away.has(part))
}

async function answers(sql: Sql, part: number): Promise<boolean> {
  try {
    await sql.query(findPart, { part })
    return true
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return false
    throw error
  }
}

/** In the words of people: "Part 1 does", "Parts 1 and 3 do". */
export function printAwayParts(away: readonly number[]): string {
  const names = new Intl.ListFormat('en').format(away.map(String))
  return away.length === 1 ? `Part ${names} does not answer` : `Parts ${names} do not answer`
}

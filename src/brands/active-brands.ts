/**
 * Which brand is in force on each site. Read once and remembered until it changes; while the database does
 * not answer, a page still says whose it is by the one that was in force last.
 */

import type { Changes } from '../database/changes.ts'
import { DatabaseUnavailable, type Sql } from '../database/database.ts'
import { type Memory, openMemory, type TaggedValue } from '../database/memory.ts'
import { type Brand, houseBrand } from '../vocabulary/brand.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { brandOf } from './brand-row.ts'
import { selectActiveBrand } from './brands.sql.ts'

export interface ActiveBrands {
  /** Without a promise when it is known. */
  find(environment: Environment): Brand | Promise<Brand>
  /** For callers that cannot wait, such as the page of an error. */
  last(environment: Environment): Brand
}

export function openActiveBrands(db: Sql, changes: Changes): ActiveBrands {
  const memory: Memory<Brand> = openMemory(changes)
  const lasts = new Map<Environment, Brand>()
  const last = (environment: Environment) => lasts.get(environment) ?? houseBrand

  async function read(environment: Environment): Promise<TaggedValue<Brand>> {
    const [row] = await db.query(selectActiveBrand, { environment })
    const value = row ? brandOf(row) : houseBrand
    lasts.set(environment, value)
    return { value, tags: [`brand:${environment}`] }
  }

  async function learn(environment: Environment): Promise<Brand> {
    try {
      return await memory.learn(environment, () => read(environment))
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      return last(environment)
    }
  }

  return { find: (environment) => memory.recall(environment) ?? learn(environment), last }
}

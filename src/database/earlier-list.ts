/**
 * Databases of before the first release were made by another list of migrations. One that has that list whole has the schema of today's
 * first files: it is taken over as it is, and its list becomes theirs. One that stopped on the way is refused.
 */
import { createHash } from 'node:crypto'

export interface Applied {
  readonly version: number
  readonly checksum: string
}

const lastVersion = 27
const firstChecksum = '81cea9bfa444aae40a2712bd8009a64fc1f9fb8ce8284ecc9f4c4c348e4f6ec1'
/** Over a line for each, `version checksum`. */
const wholeDigest = '5f7493e24db5277818d32c78c97d1aa17be7ae5893428e916ca5919b34303eb8'

/** Up to this file of today's list the schema is the one that the earlier list ends with. */
export const coveredVersion = 8

export function isEarlier(applied: readonly Applied[]): boolean {
  return applied[0]?.checksum === firstChecksum
}

/** Why a database of the earlier list cannot be taken over, and what to do; undefined when it can. */
export function findRefusal(applied: readonly Applied[]): string | undefined {
  const lines = applied.map(({ version, checksum }) => `${version} ${checksum}`)
  if (createHash('sha256').update(lines.join('\n')).digest('hex') === wholeDigest) return undefined
  return (
    `The database does not have all ${lastVersion} migrations of before the first release as they were (its last is number ` +
    `${applied.at(-1)!.version}): run "countersign migrate" of the version that has them, then start this one.`
  )
}

/** These four were added beside running nodes and hold for what was there, too. The list is written anew by whoever runs this. */
export const takeOver = `
  ALTER TABLE clients VALIDATE CONSTRAINT clients_scopes_within_most;
  ALTER TABLE replays VALIDATE CONSTRAINT replays_pull_check;
  ALTER TABLE settled_deliveries VALIDATE CONSTRAINT settled_deliveries_reason_check,
    VALIDATE CONSTRAINT settled_deliveries_canceled_by_check;
  DELETE FROM schema_migrations;`

/**
 * The PostgreSQL that was found: its release, its schema, its room for more connections, and whether it keeps
 * its word.
 */

import { findConnectionRoom } from '../database/connection-room.ts'
import type { Database } from '../database/database.ts'
import { inspectSchema } from '../database/migrations.ts'
import { selectDurability } from '../database/server.sql.ts'
import type { Config } from '../settings/config.ts'
import { wantedConnections } from '../settings/share.ts'
import type { Primary } from './database-hosts.ts'
import { type Answer, fail, ok, warn } from './finding.ts'
import { limits } from './limits.ts'

export function checkVersion({ version, versionText }: Primary): Answer {
  const found = `PostgreSQL ${versionText}.`
  if (version >= limits.leastPostgres * 10_000) return { finding: ok(found) }
  return { finding: fail(found, `Upgrade it to PostgreSQL ${limits.leastPostgres} or newer.`) }
}

/** The database is worth asking further only when its schema is the one that this release knows. */
export async function checkSchema({ db }: Pick<Primary, 'db'>): Promise<Answer<Database>> {
  const schema = await inspectSchema(db)
  switch (schema.kind) {
    case 'current':
      return {
        finding: ok(`The schema is at version ${schema.version}, as this release wants it.`),
        value: db,
      }
    case 'empty':
      return { finding: warn('The database is empty.', 'Start the gateway or run "countersign migrate".') }
    case 'behind':
      return {
        finding: warn(
          `The schema is at version ${schema.version}; this release wants ${schema.wanted}.`,
          'Start a gateway of this release, or run "countersign migrate". Nodes of the release before keep working.',
        ),
      }
    case 'newer':
      return {
        finding: fail(
          `The schema is at version ${schema.version}; this release knows up to ${schema.wanted}.`,
          'Run the newer release that made it. Schemas do not go back; a backup does.',
        ),
      }
    case 'changed':
      return {
        finding: fail(
          `Migration ${schema.name} is not the one that made this database.`,
          'Install this release again if its file was changed; otherwise run the release that made the database, or start with an empty one.',
        ),
      }
  }
}

export async function checkConnections({ db }: Primary, config: Config): Promise<Answer> {
  const { free, limit, serverUse, serverLimit, ours } = await findConnectionRoom(db)
  const wanted = wantedConnections(config)
  const who = config.processes === 1 ? 'a node takes' : `a node of ${config.processes} processes takes`
  const found =
    `${free} connections are free, ${serverUse} of ${serverLimit} are in use (${ours} by Countersign, this command's among them); ` +
    `${who} up to ${wanted}.`
  if (free >= wanted) return { finding: ok(found) }
  return {
    finding: warn(
      found,
      `Raise ${limit}, or lower DATABASE_CONNECTIONS, DATABASE_STREAM_CONNECTIONS or PROCESSES, before you add a node.`,
    ),
  }
}

export async function checkDurability({ db, hosts }: Primary): Promise<Answer> {
  const { fsync, commit, pages, standbys } = await db.one(selectDurability)
  const found = `fsync is ${fsync}, synchronous_commit is ${commit}, full_page_writes is ${pages}.`
  if (fsync === 'off' || commit === 'off') {
    return {
      finding: fail(found, 'Switch both on: otherwise what was acknowledged may be lost with the power.'),
    }
  }
  if (pages === 'off') {
    return {
      finding: warn(found, 'Switch full_page_writes on, unless the file system never writes half a page.'),
    }
  }
  if (hosts > 1 && (standbys === '' || commit === 'local')) {
    return {
      finding: warn(
        `${found} No standby confirms a commit.`,
        'A failover may lose the last commits. Set synchronous_standby_names if none may be lost.',
      ),
    }
  }
  return { finding: ok(found) }
}

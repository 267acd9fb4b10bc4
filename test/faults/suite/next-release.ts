/** This release with one more migration, which does everything that a migration may do under nodes of the release before. */
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMigrations } from '../../../src/database/migrations.ts'
import { makeFolder } from '../../support/process.ts'

const project = fileURLToPath(new URL('../../../', import.meta.url))
const tables = [
  'events',
  'queued_deliveries',
  'settled_deliveries',
  'lanes',
  'webhooks',
  'audit_entries',
  'access_tokens',
  'refresh_tokens',
  'clients',
]

/** Answers its program. */
export function makeNextRelease(): string {
  const folder = makeFolder()
  for (const name of ['src', 'migrations', 'public', 'package.json']) {
    cpSync(join(project, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'))
  const version = String(readMigrations().at(-1)!.version + 1).padStart(4, '0')
  const text = [
    'CREATE TABLE next_things (id bigint PRIMARY KEY, event_id bigint NOT NULL);',
    ...tables.map(
      (table) => `ALTER TABLE ${table} ADD COLUMN next_note text, ADD COLUMN next_count integer NOT NULL DEFAULT 0;`,
    ),
    'CREATE INDEX events_by_next_note ON events (next_note) WHERE next_note IS NOT NULL;',
  ]
  writeFileSync(join(folder, 'migrations', `${version}-next.sql`), text.join('\n'))
  return join(folder, 'src', 'cli', 'main.ts')
}

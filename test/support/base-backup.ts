/**
 * What pg_basebackup does, by the functions it uses: begin, copy everything but the log, end, keep the label.
 * For where only the server itself is at hand.
 */

import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from './ask.ts'

import { openLenientDatabase } from './lenient-database.ts'

const begin = "SELECT pg_backup_start('copy', true)"
const end = 'SELECT labelfile FROM pg_backup_stop(true)'
const notCopied = /\/(pg_wal\/.*|postmaster\.(pid|opts))$/

/** Ends when the log that belongs to the copy is in the archive. */
export async function takeBaseBackup(url: string, from: string, to: string): Promise<void> {
  // The functions want one session from the first to the last.
  const db = openLenientDatabase({ connectionString: url, connections: 1 })
  try {
    await ask(db, begin)
    mkdirSync(to, { recursive: true, mode: 0o700 })
    cpSync(from, to, { recursive: true, filter: (path) => !notCopied.test(path) })
    const [stopped] = await ask<{ labelfile: string }>(db, end)
    writeFileSync(join(to, 'backup_label'), stopped!.labelfile)
  } finally {
    await db.close()
  }
  mkdirSync(join(to, 'pg_wal'), { recursive: true, mode: 0o700 })
  chmodSync(to, 0o700)
}

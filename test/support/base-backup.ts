/**
 * What pg_basebackup does, by the functions it uses: begin, copy everything but the log, end, keep the label.
 * For where only the server itself is at hand.
 */

import { chmod, chown, copyFile, lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask } from './ask.ts'

import { openLenientDatabase } from './lenient-database.ts'

const begin = "SELECT pg_backup_start('copy', true)"
const end = 'SELECT labelfile FROM pg_backup_stop(true)'
const notCopied = /^(?:pg_wal\/.+|postmaster\.(?:pid|opts)|(?:.+\/)?(?:pg_internal\.init|pgsql_tmp).*)$/

/** Ends when the log that belongs to the copy is in the archive. */
export async function takeBaseBackup(url: string, from: string, to: string): Promise<void> {
  // The functions want one session from the first to the last.
  const db = openLenientDatabase({ connectionString: url, connections: 1 })
  try {
    await ask(db, begin)
    await copyFolder(from, to)
    const [stopped] = await ask<{ labelfile: string }>(db, end)
    await writeFile(join(to, 'backup_label'), stopped!.labelfile)
  } finally {
    await db.close()
  }
}

/** Every parent comes before what lies in it. What the server removes meanwhile belongs to no backup. */
async function copyFolder(from: string, to: string): Promise<void> {
  const names = await readdir(from, { recursive: true })
  for (const name of ['', ...names].filter((each) => !notCopied.test(each)))
    await copyOne(join(from, name), join(to, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
}

async function copyOne(from: string, to: string): Promise<void> {
  const found = await lstat(from)
  if (found.isDirectory()) await mkdir(to, { recursive: true })
  else await copyFile(from, to)
  await chmod(to, found.mode)
  await chown(to, found.uid, found.gid)
}

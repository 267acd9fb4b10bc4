/**
 * Which gateways with demo data this user runs on this machine, so that `countersign listen` finds the one that
 * runs in any data folder and on any port: a file for each process, with its data folder in it.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'

const folderOf = () => join(tmpdir(), `countersign-running-${userInfo().uid}`)

/** Answers how to take it back. A folder that is not ours alone is not written to: it only helps to find. */
export function announceDemo(dataDir: string): () => void {
  const folder = folderOf()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isOurs(folder)) return () => {}
  const file = join(folder, String(process.pid))
  writeFileSync(file, resolve(dataDir), { mode: 0o600 })
  return () => rmSync(file, { force: true })
}

/** Their data folders. A file whose process has ended is cleared away. */
export function findRunningDemos(): readonly string[] {
  const folder = folderOf()
  if (!isOurs(folder)) return []
  const running = readdirSync(folder).flatMap((name) => {
    const file = join(folder, name)
    if (isRunning(Number(name))) return [readFileSync(file, 'utf8')]
    rmSync(file, { force: true })
    return []
  })
  return [...new Set(running)]
}

/** Nobody else can have put anything in it. */
function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === userInfo().uid && (found.mode & 0o077) === 0
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

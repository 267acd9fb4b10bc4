/**
 * Folders of a run. They lie in memory where the machine has a file system there with room to spare: a
 * database of its own is several hundred files, which a disk takes longer to make and to forget than most
 * tests take. Nothing of them has to survive the run.
 */
import { mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
const roomNeeded = 4 * 1024 ** 3

export function newFolder(name: string): string {
  return mkdtempSync(join(home, `countersign-${name}-`))
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= roomNeeded
  } catch {
    return false
  }
}

const home = process.platform === 'linux' && hasRoom(memory) ? memory : tmpdir()

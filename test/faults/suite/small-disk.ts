/**
 * A file system small enough to be filled: only root can make one, so elsewhere the scenario is left out and
 * says so.
 */
import { spawnSync } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../support/process.ts'

export interface SmallDisk {
  readonly folder: string
  fill(): void
  clear(): void
  close(): void
}

const sizeMiB = 400

export function openSmallDisk(): SmallDisk | undefined {
  const folder = makeFolder()
  const options = `size=${sizeMiB}m,mode=0700`
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status !== 0) return undefined
  const ballast = join(folder, 'ballast')
  return {
    folder,
    fill() {
      for (let part = 0; ; part++) {
        const { bavail, bsize } = statfsSync(folder)
        if (bavail === 0) return
        writeFileSync(`${ballast}-${part}`, Buffer.alloc(Math.min(bavail * bsize, 16 * 1024 * 1024)))
      }
    },
    clear() {
      const { status } = spawnSync('sh', ['-c', `rm -f "${ballast}"-*`])
      if (status !== 0) throw new Error('The small disk could not be cleared.')
    },
    close() {
      spawnSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

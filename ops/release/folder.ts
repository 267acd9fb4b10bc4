/** Files of a folder, by their paths in it. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry } from './archive.ts'

/** Of a file itself too. What begins with a dot is nobody's. */
export function readEntries(root: string, path: string, as = path): Entry[] {
  const place = join(root, path)
  if (!statSync(place).isDirectory()) return [{ path: as, bytes: readFileSync(place) }]
  return readdirSync(place)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) => readEntries(root, join(path, name), `${as}/${name}`))
}

export const under = (folder: string, entries: readonly Entry[]): Entry[] =>
  entries.map((entry) => ({ ...entry, path: `${folder}/${entry.path}` }))

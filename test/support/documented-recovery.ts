/** A base backup is told to recover, as docs/operating.md says: its lines, with this archive and moment. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const text = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')

export function askForRecovery(cluster: string, archive: string, at: string): void {
  const [, lines] = /\n```\n(archive_mode = off\n[^`]+)```/.exec(text)!
  const filled = lines!
    .replace('/archive/', () => `${archive}/`)
    .replace(/(recovery_target_time = )'.+'/, (_, name: string) => `${name}'${at}'`)
  appendFileSync(join(cluster, 'postgresql.auto.conf'), filled)
  writeFileSync(join(cluster, 'recovery.signal'), '')
}

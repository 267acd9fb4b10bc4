import { readFileSync } from 'node:fs'

/** Of this release, as package.json names it. */
export function readVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** What has to be written down before others get a release. Without it the files are a trial. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export function findUnfinished(home: string, version: string): string[] {
  const changelog = readFileSync(join(home, 'CHANGELOG.md'), 'utf8')
  const isDated = changelog.split('\n').some((line) => line.startsWith(`## ${version} (2`))
  const list = readFileSync(join(home, 'test/operating/released-migrations.txt'), 'utf8')
  const folder = join(home, 'migrations')
  const missing = readdirSync(folder).filter((name) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
    return name.endsWith('.sql') && !list.includes(`${digest}  ${name}\n`)
  })
  return [
    ...(isDated ? [] : [`Not a release yet: CHANGELOG.md has no date for ${version}.`]),
    ...(missing.length === 0
      ? []
      : [`Not a release yet: test/operating/released-migrations.txt lacks ${missing.length} migrations.`]),
  ]
}

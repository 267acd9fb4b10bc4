/**
 * `npm run release`: what a release consists of, into release/ or the folder that is named. The same sources
 * give the same bytes.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeArchive } from './archive.ts'
import { printBillOfMaterials } from './bill-of-materials.ts'
import { readEntries } from './folder.ts'
import { type Lock, withoutDevelopment } from './lock.ts'
import { makePackage, type PackageSource } from './package.ts'
import { findUnfinished } from './unfinished.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))
const target = process.argv[2] ?? join(home, 'release')
const lock = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8')) as Lock

const packages: readonly PackageSource[] = [
  { folder: '.', project: 'tsconfig.build.json', page: 'README.md' },
  { folder: 'resource', project: 'tsconfig.json', page: 'resource/README.md' },
]

const files = new Map<string, Buffer>()
for (const source of packages) {
  const { name, version, entries } = makePackage(home, source)
  files.set(`${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`, makeArchive(entries))
}
const gateway = `${lock.name}-${lock.version}.tgz`
files.set(
  `${lock.name}-${lock.version}-container.tar.gz`,
  makeArchive([
    { path: gateway, bytes: files.get(gateway)! },
    ...readEntries(join(home, 'ops/release'), 'Dockerfile'),
  ]),
)
files.set(
  `${lock.name}-${lock.version}-chart.tgz`,
  makeArchive(readEntries(join(home, 'ops/helm'), lock.name)),
)
files.set('sbom.cdx.json', Buffer.from(printBillOfMaterials(withoutDevelopment(lock))))
files.set('SHA256SUMS', Buffer.from(printChecksums()))

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
for (const [name, bytes] of files) writeFileSync(join(target, name), bytes)
process.stdout.write(files.get('SHA256SUMS')!)
for (const problem of findUnfinished(home, lock.version)) process.stderr.write(`${problem}\n`)

/** As `sha256sum --check` reads it. */
function printChecksums(): string {
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  return [...files]
    .map(([name, bytes]) => `${digest(bytes)}  ${name}\n`)
    .sort((one, other) => (one.slice(64) < other.slice(64) ? -1 : 1))
    .join('')
}

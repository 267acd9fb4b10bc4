/**
 * A package for npm: what its manifest names, compiled anew, with the exact versions of all that it needs.
 * Nothing that lies in this folder by chance gets into it.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Entry } from './archive.ts'
import { readEntries, under } from './folder.ts'
import { installed, type Lock, withoutDevelopment } from './lock.ts'

export interface Package {
  readonly name: string
  readonly version: string
  readonly entries: readonly Entry[]
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly files: readonly string[]
  readonly bin?: Readonly<Record<string, string>>
  readonly scripts?: Readonly<Record<string, string>>
}

const built = 'dist'

export interface PackageSource {
  /** Where its manifest is. */
  readonly folder: string
  /** What compiles its `dist`, in that folder. */
  readonly project: string
  /** What a registry shows of it. */
  readonly page: string
}

export function makePackage(home: string, { folder, project, page }: PackageSource): Package {
  const root = join(home, folder)
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const programs = new Set(Object.values(manifest.bin ?? {}))
  const lies = manifest.files.filter((name) => name !== built).flatMap((name) => readEntries(root, name))
  const entries = [
    ...lies.map((entry) => ({ ...entry, isProgram: programs.has(entry.path) })),
    ...compile(home, join(root, project)),
    ...readEntries(home, page, 'README.md'),
    // One for all packages.
    ...['CHANGELOG.md', 'LICENSE'].flatMap((name) => readEntries(home, name)),
    asJson('package.json', publish(manifest)),
    ...readLock(root),
  ]
  return { name: manifest.name, version: manifest.version, entries: under('package', entries) }
}

/** Scripts of development name files that are not here. */
function publish({ scripts = {}, ...manifest }: Manifest): object {
  const { start } = scripts
  return { ...installed(manifest), ...(start && { scripts: { start } }) }
}

/** As npm-shrinkwrap.json it counts wherever the package is installed. */
function readLock(root: string): Entry[] {
  const path = join(root, 'package-lock.json')
  if (!existsSync(path)) return []
  return [asJson('npm-shrinkwrap.json', withoutDevelopment(JSON.parse(readFileSync(path, 'utf8')) as Lock))]
}

function asJson(path: string, value: object): Entry {
  return { path, bytes: Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`) }
}

function compile(home: string, project: string): Entry[] {
  const draft = mkdtempSync(join(tmpdir(), 'countersign-release-'))
  try {
    const compiler = join(home, 'node_modules/.bin/tsc')
    execFileSync(compiler, ['--project', project, '--outDir', join(draft, built)], { stdio: 'inherit' })
    return readEntries(draft, built)
  } finally {
    rmSync(draft, { recursive: true })
  }
}

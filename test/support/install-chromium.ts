/**
 * Runs before the tests: where no browser fits (Linux on arm64 has none on npm) and we may install one, it is
 * installed.
 */
import { spawnSync } from 'node:child_process'
import { findChromiums } from './chromium.ts'

async function isThere(): Promise<boolean> {
  return (await findChromiums()).length > 0
}

/** Waits for whoever else is installing something, and says what went wrong. */
const aptOptions = ['-qq', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3']

function run(command: string, ...args: string[]): boolean {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env: environment }).status === 0
}

if (!(await isThere()) && process.getuid?.() === 0 && run('apt-get', '--version')) {
  process.stdout.write('Installing Chromium for the browser tests …\n')
  const isInstalled =
    run('apt-get', 'update', ...aptOptions) &&
    run('apt-get', 'install', '-y', ...aptOptions, '--no-install-recommends', 'chromium')
  if (!isInstalled)
    process.stderr.write('Chromium could not be installed: the browser tests will say what to do.\n')
}

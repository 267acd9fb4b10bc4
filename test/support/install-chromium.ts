/** Runs before the tests: where no browser fits (Linux on arm64 has none on npm) and we may install one, it is installed. */
import { spawnSync } from 'node:child_process'
import { findChromium } from './chromium.ts'

async function isThere(): Promise<boolean> {
  return findChromium().then(
    () => true,
    () => false,
  )
}

function run(command: string, ...args: string[]): boolean {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync(command, args, { stdio: 'ignore', env: environment }).status === 0
}

if (!(await isThere()) && process.getuid?.() === 0 && run('apt-get', '--version')) {
  process.stdout.write('Installing Chromium for the browser tests …\n')
  run('apt-get', 'update', '-qq') && run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'chromium')
}

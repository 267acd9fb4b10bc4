/** Every command but `serve`: the table of them, and how one is run. */
import { userInfo } from 'node:os'
import { systemClock } from '../clock.ts'
import { openKeys } from '../database/keys.ts'
import { openSharedClock } from '../database/shared-clock.ts'
import { openStorage } from '../database/storage.ts'
import { readConfig, readListenSettings } from '../settings/config.ts'
import { learnLayout } from '../webhooks/events/part.ts'
import { auditCommands } from './audit.ts'
import { clientCommands } from './client.ts'
import {
  type Command,
  type ConfigContext,
  parseWords,
  printHelp,
  UsageError,
  type WriteContext,
} from './command.ts'
import { deliveryCommands } from './delivery.ts'
import { eventCommands } from './event.ts'
import { importCommands } from './import.ts'
import { keyCommands } from './keys.ts'
import { linkCommands } from './link.ts'
import { listen, listenOptions } from './listen.ts'
import { partnerCommands } from './partner.ts'
import { partnerMemberCommands } from './partner-members.ts'
import { openPrinter } from './printer.ts'
import { providerCommands } from './provider.ts'
import { settingsCommand } from './settings.ts'
import { sourceCommands } from './source.ts'
import { staffCommands } from './staff.ts'
import { tokenCommands } from './token.ts'
import { userCommands } from './user.ts'
import { webhookCommands } from './webhook.ts'

const migrateCommand: Command = {
  name: 'migrate',
  needs: 'database',
  summary: 'Brings the database to the schema of this release. A gateway that starts does the same.',
  // Opening the storage has migrated it already.
  run: async ({ print }) => print.record({ schema: 'up to date' }),
}

const doctorCommand: Command = {
  name: 'doctor',
  // What is wrong with the configuration is one of its findings.
  needs: 'nothing',
  summary:
    'Checks configuration, database, clock, keys, addresses, certificates and queues, and says what to do. Changes nothing; works with and without a running gateway.',
  async run(_, words) {
    const { runDoctor } = await import('./doctor.ts')
    process.exitCode = await runDoctor(readConfig, systemClock, words.has('json'))
  },
}

/** Speaks to a gateway over HTTP. */
const listenCommand: Command = {
  name: 'listen',
  needs: 'nothing',
  summary: "Streams a branch's events to this terminal and, with --forward-to, to a local program.",
  options: listenOptions,
  run(_, words) {
    const { dataDir, clientSecret } = readListenSettings()
    return listen(words, dataDir, clientSecret)
  },
}

export const commands: readonly Command[] = [
  listenCommand,
  migrateCommand,
  doctorCommand,
  settingsCommand,
  ...userCommands,
  ...linkCommands,
  ...providerCommands,
  ...staffCommands,
  ...partnerCommands,
  ...partnerMemberCommands,
  ...clientCommands,
  ...tokenCommands,
  ...webhookCommands,
  ...deliveryCommands,
  ...eventCommands,
  ...sourceCommands,
  ...importCommands,
  ...keyCommands,
  ...auditCommands,
]

export async function runCommand(args: readonly string[]): Promise<void> {
  const [first, second] = args
  const command = commands.find(({ name }) => name === first || name === `${first} ${second}`)
  if (!command) return showOverview(first, second)
  const words = parseWords(command, args.slice(command.name.split(' ').length))
  if (words.has('help')) {
    process.stdout.write(printHelp(command))
    return
  }
  const print = openPrinter(words.has('json'))
  if (command.optional && words.hasOptional) return command.optional.run({ print }, words)
  if (command.needs === 'nothing') return command.run({ print }, words)
  const context = { print, config: readConfig() }
  if (command.needs === 'configuration') return command.run(context, words)
  const purpose = command.needs === 'reading' ? 'look' : 'visit'
  await onDatabase(context, purpose, (opened) => command.run(opened, words))
}

async function onDatabase(
  context: ConfigContext,
  purpose: 'look' | 'visit',
  work: (context: WriteContext) => Promise<void>,
): Promise<void> {
  const { config } = context
  const storage = await openStorage(config, purpose)
  try {
    // As the nodes: what is written by another time would be due when they have passed it.
    const clock = await openSharedClock(storage.db)
    await learnLayout(storage.db)
    const by = { name: `operator:${userInfo().username}` }
    const act = () => ({ by, at: clock.now() })
    await work({
      ...context,
      clock,
      db: storage.db,
      vault: await openKeys(storage.db, config.keySource),
      act,
    })
  } finally {
    await storage.close()
  }
}

function showOverview(group: string | undefined, verb: string | undefined): void {
  const shown = commands.filter(({ name }) => name.startsWith(`${group} `))
  const named = verb === undefined || verb.startsWith('-') ? group : `${group} ${verb}`
  const known =
    named === group && (group === undefined || group === 'help' || group === '--help' || shown.length > 0)
  const rows = (shown.length > 0 ? shown : commands).map(
    ({ name, summary }) => `  ${name.padEnd(26)}${summary.split('.')[0]}`,
  )
  const serveRow = shown.length > 0 ? [] : [`  ${'serve'.padEnd(26)}Runs the gateway`]
  const text = ['Say: countersign <command> [--help] [--json]', '', ...serveRow, ...rows, ''].join('\n')
  if (!known) throw new UsageError(`There is no command "${named}".\n\n${text}`)
  process.stdout.write(text)
}

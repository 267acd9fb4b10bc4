/** Every command but `serve`: the table of them, and how one is run. */
import { userInfo } from 'node:os'
import { systemClock } from '../clock.ts'
import { readConfig, readListenSettings } from '../config.ts'
import { openVault } from '../crypto/vault.ts'
import { openSharedClock } from '../database/shared-clock.ts'
import { openStorage } from '../storage.ts'
import { auditCommands } from './audit.ts'
import { clientCommands } from './client.ts'
import { type Command, parseWords, printHelp, UsageError } from './command.ts'
import { deliveryCommands } from './delivery.ts'
import { eventCommands } from './event.ts'
import { generateCommand, keyCommands, printNewKey } from './keys.ts'
import { listen, listenOptions } from './listen.ts'
import { partnerCommands } from './partner.ts'
import { openPrinter } from './printer.ts'
import { printSettings, settingsCommand } from './settings.ts'
import { tokenCommands } from './token.ts'
import { userCommands } from './user.ts'
import { webhookCommands } from './webhook.ts'

const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Brings the database to the schema of this release. A gateway that starts does the same.',
  // Opening the storage has migrated it already.
  run: async ({ print }) => print.record({ schema: 'up to date' }),
}

/** Opens no database of its own accord. */
const doctorCommand: Command = {
  name: 'doctor',
  summary:
    'Checks configuration, database, clock, keys, addresses, certificates and queues, and says what to do. Changes nothing; works with and without a running gateway.',
  run: () => Promise.resolve(),
}

const commands: readonly Command[] = [
  migrateCommand,
  doctorCommand,
  settingsCommand,
  ...userCommands,
  ...partnerCommands,
  ...clientCommands,
  ...tokenCommands,
  ...webhookCommands,
  ...deliveryCommands,
  ...eventCommands,
  ...keyCommands,
  ...auditCommands,
]

/** Speaks to a gateway over HTTP and opens no database. */
const listenCommand: Command = {
  name: 'listen',
  summary: "Streams a branch's events to this terminal and, with --forward-to, to a local program.",
  options: listenOptions,
  run: () => Promise.resolve(),
}

export async function runCommand(args: readonly string[]): Promise<void> {
  const [first, second] = args
  if (first === 'listen') {
    const words = parseWords(listenCommand, args.slice(1))
    if (words.has('help')) return void process.stdout.write(printHelp(listenCommand))
    const { dataDir, clientSecret } = readListenSettings()
    return listen(words, dataDir, clientSecret)
  }
  const command = commands.find(({ name }) => name === first || name === `${first} ${second}`)
  if (!command) return showOverview(first, second)
  const words = parseWords(command, args.slice(command.name.split(' ').length))
  if (words.has('help')) return void process.stdout.write(printHelp(command))
  await visit(command, words)
}

async function visit(command: Command, words: ReturnType<typeof parseWords>): Promise<void> {
  if (command === generateCommand) return printNewKey(openPrinter(words.has('json')), words)
  if (command === settingsCommand) return printSettings(openPrinter(words.has('json')), words)
  if (command === doctorCommand) {
    const { runDoctor } = await import('./doctor.ts')
    process.exitCode = await runDoctor(readConfig, systemClock, words.has('json'))
    return
  }
  const config = readConfig()
  const storage = await openStorage(config, 'visit')
  try {
    const desk = {
      config,
      // As the nodes: what is written by another time would be due when they have passed it.
      clock: await openSharedClock(storage.db),
      db: storage.db,
      vault: openVault(config.keySource),
      by: { name: `operator:${userInfo().username}` },
      print: openPrinter(words.has('json')),
    }
    await command.run(desk, words)
  } finally {
    await storage.close()
  }
}

function showOverview(group: string | undefined, verb: string | undefined): void {
  const shown = commands.filter(({ name }) => name.startsWith(`${group} `))
  const named = verb === undefined || verb.startsWith('-') ? group : `${group} ${verb}`
  const known = named === group && (group === undefined || group === 'help' || group === '--help' || shown.length > 0)
  const rows = (shown.length > 0 ? shown : commands).map(
    ({ name, summary }) => `  ${name.padEnd(26)}${summary.split('.')[0]}`,
  )
  const serveRow =
    shown.length > 0
      ? []
      : [`  ${'serve'.padEnd(26)}Runs the gateway`, `  ${'listen'.padEnd(26)}${listenCommand.summary.split('.')[0]}`]
  const text = ['Say: countersign <command> [--help] [--json]', '', ...serveRow, ...rows, ''].join('\n')
  if (known) return void process.stdout.write(text)
  throw new UsageError(`There is no command "${named}".\n\n${text}`)
}

/** Every command but `serve`: the table of them, and how one is run. */
import { userInfo } from 'node:os'
import { systemClock } from '../clock.ts'
import { openKeys } from '../database/keys.ts'
import { openSharedClock } from '../database/shared-clock.ts'
import { openStorage } from '../database/storage.ts'
import { readConfig, readListenSettings } from '../settings/config.ts'
import { didYouMean, findNearest } from '../text/nearest.ts'
import { learnLayout } from '../webhooks/events/part.ts'
import { alertCommands } from './alert.ts'
import { applyCommands } from './apply.ts'
import { auditCommands } from './audit.ts'
import { callsCommand } from './calls.ts'
import { clientCommands } from './client.ts'
import { clientKeyCommands } from './client-keys.ts'
import {
  type Command,
  type ConfigContext,
  parseWords,
  printHelp,
  UsageError,
  type WriteContext,
} from './command.ts'
import { completionCommand } from './completion.ts'
import { credentialCommands } from './credential.ts'
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
import { upgradeCommands } from './upgrade.ts'
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
  run: (_, words) => listen(words, readListenSettings()),
}

export const commands: readonly Command[] = [
  listenCommand,
  completionCommand(() => [serveInHelp, ...commands]),
  migrateCommand,
  ...upgradeCommands,
  doctorCommand,
  settingsCommand,
  ...applyCommands,
  ...userCommands,
  ...linkCommands,
  ...providerCommands,
  ...staffCommands,
  ...credentialCommands,
  ...partnerCommands,
  ...partnerMemberCommands,
  ...clientCommands,
  ...clientKeyCommands,
  ...tokenCommands,
  ...webhookCommands,
  ...deliveryCommands,
  ...alertCommands,
  callsCommand,
  ...eventCommands,
  ...sourceCommands,
  ...importCommands,
  ...keyCommands,
  ...auditCommands,
]

export async function runCommand(args: readonly string[]): Promise<void> {
  const [first, second] = args
  const command = commands.find(({ name }) => name === first || name === `${first} ${second}`)
  if (!command) return showOverview(args.filter((word) => !word.startsWith('-')))
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

/** Of all commands, or of those that begin with one word. */
function showOverview(words: readonly string[]): void {
  const [group] = words
  const members = commands.filter(({ name }) => name.startsWith(`${group} `))
  const shown = members.length > 0 ? members : [serveInHelp, ...commands]
  if (group === undefined || (words.length === 1 && members.length > 0)) {
    process.stdout.write(printOverview(shown))
    return
  }
  const typed = words.slice(0, members.length > 0 ? 2 : 1).join(' ')
  const names = shown.flatMap(({ name }) => (members.length > 0 ? [name] : [name, name.split(' ')[0]!]))
  const meant = findNearest(words.slice(0, 2).join(' '), names) ?? findNearest(typed, names)
  const more = members.length > 0 ? `\n\n${printOverview(members)}` : '\nSee: countersign help'
  throw new UsageError(
    `There is no command "${typed}".${didYouMean(meant && `"countersign ${meant}"`)}${more}`,
  )
}

/** It is run before any of these is loaded. */
const serveInHelp = { name: 'serve', summary: 'Runs the gateway.', options: [] }

function printOverview(shown: readonly Pick<Command, 'name' | 'summary'>[]): string {
  const rows = shown.map(({ name, summary }) => `  ${name.padEnd(26)}${summary.split('.')[0]}`)
  return ['Say: countersign <command> [--help] [--json]', '', ...rows, ''].join('\n')
}

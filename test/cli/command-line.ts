/**
 * The command line against a database of the file's own. `run` executes a command in this process, which
 * takes milliseconds; `runApart` starts a real one. Both answer alike; that they do is the business of
 * command-line.test.ts.
 */
import { randomBytes } from 'node:crypto'
import { alertCommands } from '../../src/cli/alert.ts'
import { auditCommands } from '../../src/cli/audit.ts'
import { callsCommand } from '../../src/cli/calls.ts'
import { clientCommands } from '../../src/cli/client.ts'
import { clientKeyCommands } from '../../src/cli/client-keys.ts'
import { exitCodeOf, parseWords, printHelp } from '../../src/cli/command.ts'
import { deliveryCommands } from '../../src/cli/delivery.ts'
import { eventCommands } from '../../src/cli/event.ts'
import { importCommands } from '../../src/cli/import.ts'
import { keyCommands } from '../../src/cli/keys.ts'
import { linkCommands } from '../../src/cli/link.ts'
import { partnerCommands } from '../../src/cli/partner.ts'
import { partnerMemberCommands } from '../../src/cli/partner-members.ts'
import { openPrinter } from '../../src/cli/printer.ts'
import { providerCommands } from '../../src/cli/provider.ts'
import { sourceCommands } from '../../src/cli/source.ts'
import { staffCommands } from '../../src/cli/staff.ts'
import { tokenCommands } from '../../src/cli/token.ts'
import { userCommands } from '../../src/cli/user.ts'
import { webhookCommands } from '../../src/cli/webhook.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { openVaultOf } from '../../src/crypto/vault.ts'
import type { Database } from '../../src/database/database.ts'
import { readConfig } from '../../src/settings/config.ts'
import { openTestDatabase } from '../support/database.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { type ProcessResult, runCommand } from '../support/process.ts'

export const commands = [
  ...userCommands,
  ...linkCommands,
  ...staffCommands,
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
  ...providerCommands,
  ...keyCommands,
  ...auditCommands,
]

export type CommandResult = Pick<ProcessResult, 'code' | 'stdout' | 'stderr'>

export interface CommandLine {
  readonly db: Database
  readonly settings: NodeJS.ProcessEnv
  run(...words: string[]): Promise<CommandResult>
  runApart(...words: string[]): Promise<ProcessResult>
  /** Runs with --json and answers the value; a failure is the test's. */
  read<Value = Record<string, unknown>>(...words: string[]): Promise<Value>
  /** Code and error stream of a command that must fail, with nothing on the output stream. */
  fail(...words: string[]): Promise<{ code: number | null; stderr: string }>
  close(): Promise<void>
}

export async function openCommandLine(): Promise<CommandLine> {
  const database = await openTestDatabase()
  const line = openCommandLineAt({
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('hex'),
    AUDIT_ANCHOR_FILE: 'off',
  })
  return {
    ...line,
    async close() {
      await line.close()
      await database.close()
    },
  }
}

/** On the database that the settings name, by the clock of its gateway where that is moved. */
export function openCommandLineAt(settings: NodeJS.ProcessEnv, clock: Clock = systemClock): CommandLine {
  const db = openLenientDatabase({ connectionString: settings.DATABASE_URL!, connections: 2 })
  const readingDb = openLenientDatabase({
    connectionString: settings.DATABASE_URL!,
    connections: 2,
    isReadOnly: true,
  })
  const run = (...words: string[]) => runHere({ db, readingDb, clock }, settings, words)
  return {
    db,
    settings,
    run,
    runApart: (...words) => runCommand(words, settings),
    async read(...words) {
      const { code, stdout, stderr } = await run(...words, '--json')
      if (code !== 0) throw new Error(`"${words.join(' ')}" failed: ${stderr}`)
      return JSON.parse(stdout)
    },
    async fail(...words) {
      const { code, stdout, stderr } = await run(...words)
      if (stdout !== '') throw new Error(`"${words.join(' ')}" printed: ${stdout}`)
      return { code, stderr }
    },
    async close() {
      await readingDb.close()
      await db.close()
    },
  }
}

interface Opened {
  readonly db: Database
  /** Whatever only reads is run on it: it can write nothing. */
  readonly readingDb: Database
  readonly clock: Clock
}

async function runHere(
  { db: writingDb, readingDb, clock }: Opened,
  settings: NodeJS.ProcessEnv,
  args: readonly string[],
): Promise<CommandResult> {
  let stdout = ''
  const out = { write: (text: string) => (stdout += text) } as unknown as NodeJS.WriteStream
  try {
    const command = commands.find(({ name }) => name === args[0] || name === args.slice(0, 2).join(' '))!
    const words = parseWords(command, args.slice(command.name.split(' ').length))
    if (words.has('help')) return { code: 0, stdout: printHelp(command), stderr: '' }
    const config = readConfig(settings)
    const print = openPrinter(words.has('json'), out)
    const db = command.needs === 'reading' ? readingDb : writingDb
    const context = { config, clock, db, vault: await openVaultOf(config.keySource), print }
    const act = () => ({ by: { name: 'operator:here' }, at: clock.now() })
    await command.run({ ...context, act }, words)
    return { code: 0, stdout, stderr: '' }
  } catch (error) {
    return { code: exitCodeOf(error), stdout, stderr: `${(error as Error).message}\n` }
  }
}

/** The fields of one thing, as people read them: a name and a value a line. */
export function parseRecord(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => /^\w+ {2,}/.test(line))
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0]!, line.replace(/^\w+ +/, '')]))
}

/** A table, as people read it: columns begin where their heading begins. */
export function parseTable(text: string): Record<string, string>[] {
  const [heading, ...lines] = text.trimEnd().split('\n')
  const columns = [...heading!.matchAll(/\w+/g)]
  return lines.map((line) =>
    Object.fromEntries(
      columns.map((column, index) => [column[0], line.slice(column.index, columns[index + 1]?.index).trim()]),
    ),
  )
}

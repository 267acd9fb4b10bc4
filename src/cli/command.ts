/** The shape of a command, and how its words become values. */
import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util'
import type { Act } from '../audit/audit.ts'
import type { Clock } from '../clock.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Database } from '../database/database.ts'
import type { Config } from '../settings/config.ts'
import { ConfigError } from '../settings/read.ts'
import { didYouMean, findNearest } from '../text/nearest.ts'

export interface Option {
  readonly name: string
  /** A flag when absent; otherwise the word that stands for the value in help texts. */
  readonly value?: string
  readonly required?: boolean
  readonly multiple?: boolean
  /** A letter that says the same. */
  readonly short?: string
  readonly meaning: string
}

export interface CommandWords {
  /** Whether the word that may be left out is there. */
  readonly hasOptional: boolean
  /** A word of the command's own, by the name that it has in its description. */
  positional(name: string): string
  find(name: string): string | undefined
  /** Of an option that is required, or was found. */
  get(name: string): string
  all(name: string): readonly string[]
  has(name: string): boolean
}

/** What a command that needs nothing may use. */
export interface PrintContext {
  readonly print: Printer
}

/** What a command that needs the configuration may use: it was read, and is right. */
export interface ConfigContext extends PrintContext {
  readonly config: Config
}

/** What a command that only reads may use: the database as it is, in sessions that can write nothing. */
export interface ReadContext extends ConfigContext {
  readonly clock: Clock
  readonly db: Database
  readonly vault: Vault
}

/** What a command that changes something may use: the database was migrated before. */
export interface WriteContext extends ReadContext {
  /** What the operator does, now. */
  act(): Act
}

export type SayTone = 'good' | 'changed' | 'bad' | 'proposed' | 'faint'

export interface Printer {
  /** One thing: its fields, a line each. */
  record(fields: Record<string, unknown>): void
  /** Many things: a table. */
  table(rows: readonly Record<string, unknown>[], empty: string): void
  /** As many things as there are, printed while they are read. */
  pages(pages: AsyncIterable<readonly Record<string, unknown>[]>, empty: string): Promise<void>
  /** For people only; silent with --json. In a terminal in the colour of what it means. */
  say(text: string, tone?: SayTone): void
  /** For programs only: with --json. */
  json(value: unknown): void
  /** For people and files: as it is, but in a terminal. Silent with --json. */
  text(text: string): void
  /** Progress of long work, on the error stream. */
  progress(text: string): void
}

interface CommandDescription {
  /** Such as `client create`. */
  readonly name: string
  readonly summary: string
  readonly positionals?: readonly string[]
  /** A word that may be left out. With it the command needs nothing, and does this instead. */
  readonly optional?: {
    readonly word: string
    run(context: PrintContext, words: CommandWords): Promise<void>
  }
  readonly options?: readonly Option[]
}

interface CommandWith<Needs extends string, CommandContext> extends CommandDescription {
  readonly needs: Needs
  run(context: CommandContext, words: CommandWords): Promise<void>
}

/** What it needs is there when it is run, and nothing else is opened for it. */
export type Command =
  | CommandWith<'nothing', PrintContext>
  | CommandWith<'configuration', ConfigContext>
  | CommandWith<'reading', ReadContext>
  | CommandWith<'database', WriteContext>

/**
 * It is done, but for something that the operator who runs it has to look at: an exit code of its own tells a
 * script so.
 */
export class PartialSuccess extends Error {
  override readonly name = 'PartialSuccess'
}

/** The house is not as it is said to be. Scripts tell it from a failure, a mistyped word among them. */
export class Drift extends Error {
  override readonly name = 'Drift'
}

const exitCodes = { failed: 1, unusable: 2, drift: 2, partlyDone: 3 } as const

export function exitCodeOf(error: unknown, command?: string): number {
  if (error instanceof PartialSuccess) return exitCodes.partlyDone
  if (error instanceof Drift) return exitCodes.drift
  if (command === 'diff') return exitCodes.failed
  return error instanceof UsageError || error instanceof ConfigError ? exitCodes.unusable : exitCodes.failed
}

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What every command takes. */
export const everywhere: readonly Option[] = [
  { name: 'json', meaning: 'print JSON' },
  { name: 'help', short: 'h', meaning: 'show this help' },
]

export function parseWords(command: CommandDescription, args: readonly string[]): CommandWords {
  const options = [...(command.options ?? []), ...everywhere]
  const descriptors = Object.fromEntries(
    options.map((option): [string, ParseArgsOptionDescriptor] => [
      option.name,
      {
        type: option.value ? 'string' : 'boolean',
        multiple: option.multiple ?? false,
        ...(option.short !== undefined && { short: option.short }),
      },
    ]),
  )
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: descriptors,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  for (const token of tokens) if (token.kind === 'option') checkOption(command, options, token)
  const repeated = options.find(
    ({ name, multiple }) => !multiple && tokens.filter((each) => isOption(each, name)).length > 1,
  )
  if (repeated) throw new UsageError(`--${repeated.name} was given twice.`)
  if (!values.help) checkWords(command, values, positionals)
  const own = command.positionals ?? []
  const names = command.optional ? [...own, command.optional.word] : own
  const all = (name: string) => [values[name] ?? []].flat().filter((value) => typeof value === 'string')
  return {
    hasOptional: positionals.length > own.length,
    positional: (name) => given(positionals[names.indexOf(name)], command, `<${name}>`),
    find: (name) => all(name)[0],
    get: (name) => given(all(name)[0], command, `--${name}`),
    all,
    has: (name) => values[name] !== undefined,
  }
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

const isOption = (token: Token, name: string) => token.kind === 'option' && token.name === name

/** The value was forgotten, and the next option taken for it. Keys, which may begin with "-", read otherwise. */
const readsAsOption = /^(-[a-z]|--[a-z][a-z0-9-]*(=.*)?)$/

/** Node's own words for these are about how to call its parser. */
function checkOption(
  command: CommandDescription,
  options: readonly Option[],
  { name, rawName, value, inlineValue }: OptionToken,
): void {
  const option = options.find((each) => each.name === name)
  if (!option) {
    const nearest = findNearest(
      rawName,
      options.map((each) => `--${each.name}`),
    )
    throw new UsageError(
      `"${command.name}" has no option ${rawName}.${didYouMean(nearest)} See: countersign ${command.name} --help`,
    )
  }
  if (option.value === undefined && value !== undefined)
    throw new UsageError(`--${name} takes no value: it is there, or it is left out.`)
  if (option.value === undefined) return
  if (value === undefined) throw new UsageError(`--${name} needs a value: --${name} ${option.value}`)
  if (!inlineValue && readsAsOption.test(value))
    throw new UsageError(
      `--${name} needs a value: --${name} ${option.value}. One that begins with "-": --${name}=${value}`,
    )
}

/** The words were checked: one that is missing was not asked for. */
function given(word: string | undefined, command: CommandDescription, name: string): string {
  if (word === undefined) throw new Error(`"${command.name}" does not ask for ${name}.`)
  return word
}

function checkWords(
  command: CommandDescription,
  values: Record<string, unknown>,
  positionals: readonly string[],
): void {
  const expected = command.positionals ?? []
  const more = command.optional === undefined ? 0 : 1
  if (positionals.length < expected.length || positionals.length > expected.length + more) {
    throw new UsageError(
      expected.length === 0
        ? `"${command.name}" takes no words of its own.`
        : `Say: countersign ${command.name} ${expected.map((word) => `<${word}>`).join(' ')}`,
    )
  }
  const missing = (command.options ?? []).filter(
    (option) => option.required && values[option.name] === undefined,
  )
  if (missing.length > 0)
    throw new UsageError(`Missing: ${missing.map((option) => `--${option.name}`).join(', ')}`)
}

export function printHelp(command: CommandDescription): string {
  const words = [
    ...(command.positionals ?? []).map((word) => ` <${word}>`),
    ...(command.optional === undefined ? [] : [` [${command.optional.word}]`]),
  ].join('')
  const lines = [...(command.options ?? []), ...everywhere].map((option) => {
    const short = option.short === undefined ? '' : `-${option.short}, `
    const name = `${short}--${option.name}${option.value ? ` ${option.value}` : ''}`
    return `  ${name.padEnd(26)}  ${option.meaning}${option.required ? ' (required)' : ''}`
  })
  return `countersign ${command.name}${words}\n\n${command.summary}\n\n${lines.join('\n')}\n`
}

/** What is chosen for a webhook, as options of a command; and what is wrong with it, by their names. */
import { Invalid } from '../problem.ts'
import { actions as allActions, type Kind, kinds } from '../webhooks/events/kind.ts'
import { sendLimits } from '../webhooks/outbound/send-limit.ts'
import { noteCharacters } from '../webhooks/subscriptions/note.ts'
import type { WebhookDraft } from '../webhooks/subscriptions/webhook.ts'
import { type HeaderChange, headerLimits } from '../webhooks/subscriptions/webhook-headers.ts'
import type { Actions } from '../webhooks/subscriptions/webhook-settings.ts'
import { type CommandWords, type Option, UsageError } from './command.ts'
import { readSecret, secretOption } from './secret-file.ts'

const { least, most } = sendLimits

export const settingOptions: readonly Option[] = [
  {
    name: 'kinds',
    value: 'KINDS',
    meaning: `some of ${kinds.join(', ')}; a new webhook has all but AUTHORIZATION`,
  },
  {
    name: 'actions',
    value: 'ACTIONS',
    meaning: 'only these, such as TRANSACTION.COMPLETED,APPLICATION.APPROVED; all for every action',
  },
  {
    name: 'rate-limit',
    value: 'N',
    meaning: `attempts a second at most, ${least} to ${most}; none for no limit`,
  },
  secretOption(
    'headers',
    `a file with headers to send with each delivery, Name: value on each line, ${headerLimits.headers} at most`,
  ),
  { name: 'description', value: 'TEXT', meaning: `for people, ${noteCharacters} characters at most` },
]

export const removalOption: Option = {
  name: 'remove-header',
  value: 'NAME',
  multiple: true,
  meaning: 'a header that is not sent any more; may be repeated',
}

type Settings = Omit<Partial<WebhookDraft>, 'url' | 'secret'>

/** What is not given is not there. */
export function readSettings(words: CommandWords): Settings {
  const chosen = words.find('kinds')
  const actions = words.find('actions')
  const rate = words.find('rate-limit')
  const description = words.find('description')
  const headers = readHeaders(words)
  return {
    ...(chosen !== undefined && { kinds: parseKinds(chosen) }),
    ...(actions !== undefined && { actions: parseActions(actions) }),
    ...(rate !== undefined && { rateLimit: parseRate(rate) }),
    ...(description !== undefined && { description }),
    ...(headers && { headers }),
  }
}

const wordsOf = (text: string) => text.split(/[ ,]+/).filter((word) => word !== '')

function parseKinds(text: string): Kind[] {
  const words = wordsOf(text)
  if (!words.every(isKind) || words.length === 0) throw wrong('kinds', `must be some of ${kinds.join(', ')}`)
  return words
}

function isKind(word: string): word is Kind {
  return Object.hasOwn(allActions, word)
}

function parseActions(text: string): Actions {
  if (text === 'all') return {}
  const pairs = wordsOf(text).map(parseAction)
  if (pairs.length === 0) throw wrong('actions', `must name some actions, ${actionExample}`)
  const byKind = Map.groupBy(pairs, ({ kind }) => kind)
  return Object.fromEntries([...byKind].map(([kind, some]) => [kind, some.map(({ action }) => action)]))
}

const actionExample = 'such as TRANSACTION.COMPLETED, or all'

function parseAction(word: string): { kind: Kind; action: string } {
  const [kind = '', action = ''] = word.split('.')
  if (!isKind(kind)) throw wrong('actions', `must name some actions, ${actionExample}`)
  const known: readonly string[] = allActions[kind]
  if (!known.includes(action))
    throw wrong(
      'actions',
      `must name some of ${known.map((each) => `${kind}.${each}`).join(', ')} for ${kind}`,
    )
  return { kind, action }
}

function parseRate(text: string): number | null {
  if (text === 'none') return null
  const rate = Number(text)
  if (!/^\d{1,9}$/.test(text) || rate < least || rate > most)
    throw wrong('rate-limit', `must be a whole number from ${least} to ${most}, or none`)
  return rate
}

/** Credentials of a receiver may be among them: they come as secrets do. */
function readHeaders(words: CommandWords): HeaderChange | undefined {
  const path = words.find('headers-file')
  const removed = words.all('remove-header').map((name) => [name, null] as const)
  if (path === '-' && words.find('secret-file') === '-')
    throw new UsageError('Standard input holds one thing: give --secret-file or --headers-file a file.')
  const given = path === undefined ? [] : readSecret(path).split(/\r?\n/).flatMap(parseHeaderLine)
  if (path === undefined && removed.length === 0) return undefined
  return asChange([...removed, ...given])
}

/** What stands in a line may be secret: a fault names its number. */
function parseHeaderLine(line: string, index: number): (readonly [string, string])[] {
  if (line.trim() === '') return []
  const colon = line.indexOf(':')
  if (colon < 1) throw wrong('headers-file', `must have Name: value on line ${index + 1}`)
  return [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]]
}

function asChange(pairs: readonly (readonly [string, string | null])[]): HeaderChange {
  const names = pairs.map(([name]) => name.toLowerCase())
  const twice = names.find((name, place) => names.indexOf(name) !== place)
  if (twice !== undefined)
    throw wrong('headers-file', `and --remove-header must name each header once; ${twice} is twice`)
  return Object.fromEntries(pairs)
}

function wrong(option: string, problem: string): Invalid {
  return new Invalid([{ field: `--${option}`, problem }])
}

const optionOf = new Map([
  ['url', '--url'],
  ['secret', '--secret-file'],
  ['kinds', '--kinds'],
  ['actions', '--actions'],
  ['rateLimit', '--rate-limit'],
  ['headers', '--headers-file'],
  ['description', '--description'],
])

/** An operator who typed options looks for them in the message. */
export async function namingOptions<Result>(act: Promise<Result>): Promise<Result> {
  try {
    return await act
  } catch (error) {
    if (!(error instanceof Invalid)) throw error
    throw new Invalid(
      error.fields.map(({ field, problem }) => ({ field: optionOf.get(field) ?? field, problem })),
    )
  }
}

/** The profile of a client: how commands take and print it. */
import { profileOf } from '../oauth/profile.ts'
import { type Client, getClient } from '../partners/client.ts'
import { hasFapi2, type ProfileTerms, setProfile, weakens } from '../partners/client-profile.ts'
import { Invalid } from '../problem.ts'
import { breakGlass } from './break-glass.ts'
import type { Command, CommandWords, Option } from './command.ts'

export const profileOption: Option = {
  name: 'profile',
  value: 'standard|fapi2',
  meaning: 'what is demanded of it: standard unless given',
}

export function parseProfile(text = 'standard'): 'standard' | 'fapi2' {
  if (text !== 'standard' && text !== 'fapi2')
    throw new Invalid([{ field: 'profile', problem: 'must be standard or fapi2' }])
  return text
}

export function printProfile(client: Client, now: Date) {
  return {
    profile: profileOf(client, now),
    fapi2_from: client.fapi2From,
    bearers: client.fapi2EndsBearers ? 'end' : 'live-out',
    dpop_nonces: client.demandsDpopNonces ? 'on' : 'off',
  }
}

export const profileCommand: Command = {
  name: 'client profile',
  needs: 'database',
  summary: 'Sets what is demanded of a client: FAPI 2.0, at once or from a moment on, or the standard.',
  positionals: ['client'],
  options: [
    { name: 'profile', value: 'standard|fapi2', required: true, meaning: 'what is demanded of it' },
    { name: 'from', value: 'TIME', meaning: 'FAPI 2.0 from this moment on (ISO 8601): at once unless given' },
    {
      name: 'bearers',
      value: 'end|live-out',
      meaning: 'what becomes of its bearer tokens then: they end unless given, or live out their time',
    },
    { name: 'dpop-nonces', value: 'on|off', meaning: 'whether its DPoP proofs carry a nonce of ours' },
  ],
  async run(context, words) {
    const { db, print } = context
    const act = context.act()
    const client = await getClient(db, words.positional('client'))
    const terms = parseTerms(words, client, act.at)
    if (client.environment === 'live' && weakens(client, terms, act.at))
      await breakGlass(context, 'client.lower-profile', `client:${client.id}`)
    print.record({ id: client.id, ...printProfile(await setProfile(db, client, terms, act), act.at) })
  },
}

function parseTerms(words: CommandWords, client: Client, now: Date): Partial<ProfileTerms> {
  const bearers = parseOneOf(words, 'bearers', ['end', 'live-out'])
  const nonces = parseOneOf(words, 'dpop-nonces', ['on', 'off'])
  return {
    from: parseFrom(words, client, now),
    ...(bearers !== undefined && { endsBearers: bearers === 'end' }),
    ...(nonces !== undefined && { demandsDpopNonces: nonces === 'on' }),
  }
}

/** One that has it already keeps its moment. */
function parseFrom(words: CommandWords, client: Client, now: Date): Date | null {
  const from = words.find('from')
  if (parseProfile(words.get('profile')) === 'standard') {
    if (from !== undefined)
      throw new Invalid([
        { field: 'from', problem: 'goes with --profile fapi2: the standard begins at once' },
      ])
    return null
  }
  if (from === undefined) return hasFapi2(client, now) ? client.fapi2From : now
  const moment = new Date(from)
  if (!/^\d{4}-\d{2}-\d{2}(T.*(Z|[+-]\d{2}:\d{2}))?$/.test(from) || Number.isNaN(moment.getTime()))
    throw new Invalid([
      { field: 'from', problem: 'must be a day or a time with its zone, such as 2027-03-01' },
    ])
  return moment
}

function parseOneOf<Choice extends string>(
  words: CommandWords,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = words.find(name)
  const choice = choices.find((each) => each === text)
  if (text !== undefined && choice === undefined)
    throw new Invalid([{ field: name, problem: `must be ${choices.join(' or ')}` }])
  return choice
}

import { type ExternalName, linkAccount, linkUser } from '../provisioning/link.ts'
import { getUserNamed } from '../users/user.ts'
import { defaultSource } from '../vocabulary/source.ts'
import type { Command, CommandWords, Option } from './command.ts'
import { parseEnvironment } from './environment.ts'

const options: readonly Option[] = [
  { name: 'external-id', value: 'ID', required: true, meaning: 'what your own system calls them' },
  { name: 'source', value: 'NAME', meaning: 'which system; core unless given, sandbox in the sandbox' },
  { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
]

function nameOf(words: CommandWords): ExternalName {
  const environment = parseEnvironment(words.find('environment'))
  return {
    environment,
    source: words.find('source') ?? defaultSource[environment],
    externalId: words.get('external-id'),
  }
}

export const linkCommands: readonly Command[] = [
  {
    name: 'user link',
    needs: 'database',
    summary:
      'Says who a holder made by hand is in your own system: its next import finds them. Make sure first that it is them; the name stays once the system has spoken of them.',
    positionals: ['user'],
    options,
    async run({ db, act, print }, words) {
      const user = await getUserNamed(db, words.positional('user'))
      const name = nameOf(words)
      await linkUser(db, user, name, act())
      print.record({ username: user.username, source: name.source, external_id: name.externalId })
    },
  },
  {
    name: 'user link-account',
    needs: 'database',
    summary: 'The same of an account that was made by hand, by its number.',
    positionals: ['number'],
    options,
    async run({ db, act, print }, words) {
      const number = words.positional('number').toUpperCase()
      const name = nameOf(words)
      await linkAccount(db, number, name, act())
      print.record({ account_number: number, source: name.source, external_id: name.externalId })
    },
  },
]

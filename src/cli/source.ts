import {
  changeSourceRoles,
  createSource,
  listNamedSources,
  type NamedSource,
} from '../provisioning/source.ts'
import { type Command, UsageError } from './command.ts'
import { parseEnvironment } from './environment.ts'

export const sourceCommands: readonly Command[] = [
  {
    name: 'source create',
    needs: 'database',
    summary:
      'Names one of your own systems that says which customers and accounts there are, for one of the sites.',
    positionals: ['name'],
    options: [{ name: 'environment', value: 'live|sandbox', meaning: 'live unless given' }],
    async run({ db, act, print }, words) {
      const environment = parseEnvironment(words.find('environment'))
      print.record(
        printSource(await createSource(db, { source: words.positional('name'), environment }, act())),
      )
    },
  },
  {
    name: 'source update',
    needs: 'database',
    summary: 'Changes which roles of the database may speak for a source by provision() in SQL.',
    positionals: ['name'],
    options: [
      { name: 'role', value: 'ROLE', multiple: true, meaning: 'a database role that may; may be repeated' },
      { name: 'no-role', value: 'ROLE', multiple: true, meaning: 'one that may no longer; may be repeated' },
    ],
    async run({ db, act, print }, words) {
      const change = { added: words.all('role'), withdrawn: words.all('no-role') }
      if (change.added.length + change.withdrawn.length === 0)
        throw new UsageError('Say --role ROLE or --no-role ROLE.')
      print.record(printSource(await changeSourceRoles(db, words.positional('name'), change, act())))
    },
  },
  {
    name: 'source list',
    needs: 'reading',
    summary: 'Lists the sources, who of the database may speak for each, and when it last said something.',
    run: async ({ db, print }) =>
      print.table((await listNamedSources(db)).map(printSource), 'There are no sources.'),
  },
]

function printSource({ source, environment, roles, heardAt }: NamedSource) {
  return { name: source, environment, roles, heard_at: heardAt }
}

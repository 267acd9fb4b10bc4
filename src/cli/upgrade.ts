import { visitServer } from '../database/storage.ts'
import { checkUpgrade, type UpgradeCheck } from '../database/upgrade.ts'
import type { Command, Printer } from './command.ts'

export const upgradeCommands: readonly Command[] = [
  {
    name: 'upgrade check',
    needs: 'configuration',
    summary:
      'Says what the migrations of this release would lock, read and rewrite in the database as it is. Tries them in an empty database beside it, and changes nothing.',
    async run({ config, print }) {
      const server = await visitServer(config)
      try {
        printCheck(await checkUpgrade(server.connectionString), print)
      } finally {
        await server.close()
      }
    },
  },
]

function printCheck(check: UpgradeCheck | undefined, print: Printer): void {
  const { pending, effects } = check ?? { pending: [], effects: [] }
  const none = pending.length > 0 ? 'The migrations touch no table that is there.' : current
  print.table(
    effects.map((effect) => ({ ...effect })),
    check ? none : 'The database has no tables yet: nothing is in the way of a migration.',
  )
  if (pending.length > 0)
    print.say(
      `\n${pending.join(', ')}: one transaction, which keeps every lock until its end. It waits two seconds for a lock, gives way, and tries again.`,
    )
}

const current = 'The database has the schema of this release.'

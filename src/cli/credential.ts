/** Credentials for the administration API: a house without a console gets its first one here. */
import {
  type AdminCredential,
  createCredential,
  credentialDays,
  listCredentials,
  revokeCredential,
} from '../users/admin-credential.ts'
import { getUserNamed } from '../users/user.ts'
import { type Command, UsageError } from './command.ts'
import { parseEnvironment } from './environment.ts'
import { nameUsers } from './names.ts'
import { parseStaffRole, staffRoleOption } from './staff.ts'

export const credentialCommands: readonly Command[] = [
  {
    name: 'credential create',
    needs: 'database',
    summary:
      'Makes a credential for the administration API. It may do what its role may, while the person it is for may do all of that. It is shown once.',
    options: [
      { name: 'for', value: 'USER', required: true, meaning: 'for whom of the staff it acts' },
      { name: 'role', ...staffRoleOption, required: true, meaning: 'what it may do' },
      { name: 'name', value: 'TEXT', required: true, meaning: 'what it is for, such as "deployment"' },
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
      { name: 'days', value: 'N', meaning: `how long it lives; ${credentialDays.usual} unless given` },
      {
        ...{ name: 'reader', value: 'USER', multiple: true },
        meaning:
          'who else of the staff can read it, and so decides nothing that it proposes; may be repeated',
      },
    ],
    async run({ db, act, print }, words) {
      const { id: userId } = await getUserNamed(db, words.get('for'))
      const readers: string[] = []
      for (const reader of words.all('reader')) readers.push((await getUserNamed(db, reader)).id)
      const { credential, secret } = await createCredential(
        db,
        {
          ...{ userId, readers, name: words.get('name'), role: parseStaffRole(words.get('role')) },
          environment: parseEnvironment(words.find('environment')),
          days: Number(words.find('days') ?? credentialDays.usual),
        },
        act(),
      )
      const names = await nameUsers(db, [userId, ...credential.readers])
      print.record({ ...printCredential(credential, names), credential: secret.text })
    },
  },
  {
    name: 'credential list',
    needs: 'reading',
    summary: 'Lists the credentials for the administration API, newest first.',
    async run({ db, print }) {
      const all = await listCredentials(db)
      const names = await nameUsers(
        db,
        all.flatMap(({ userId, readers }) => [userId, ...readers]),
      )
      print.table(
        all.map((each) => ({
          ...printCredential(each, names),
          last_used_at: each.lastUsedAt,
          revoked_at: each.revokedAt,
        })),
        'There are no credentials.',
      )
    },
  },
  {
    name: 'credential revoke',
    needs: 'database',
    summary: 'Ends a credential for the administration API at once.',
    positionals: ['id'],
    async run({ db, act, print }, { positional }) {
      const id = Number(positional('id'))
      if (!Number.isSafeInteger(id)) throw new UsageError('A credential is named by its number.')
      await revokeCredential(db, id, act())
      print.record({ revoked_credential: id })
    },
  },
]

function printCredential(credential: AdminCredential, names: ReadonlyMap<string, string>) {
  const { id, name, environment, role, userId, readers, hint, expiresAt } = credential
  const nameOf = (each: string) => names.get(each) ?? each
  return {
    ...{ id, name, environment, role, acts_for: nameOf(userId), readers: readers.map(nameOf) },
    ...{ hint, expires_at: expiresAt },
  }
}

import { getClient } from '../partners/client.ts'
import { addKeys, listKeys, removeKey } from '../partners/client-keys.ts'
import { type ReadJwks, readJwksText } from '../partners/jwks.ts'
import { findKeySet, type KeySet, placeKeys } from '../partners/key-sets.ts'
import type { Command, CommandWords, Option } from './command.ts'
import { readFileOf } from './secret-file.ts'

export const jwksOption: Option = {
  name: 'jwks',
  value: 'FILE',
  meaning: 'its public keys as a JWKS, or one JWK; - reads standard input',
}

export function takeJwks(words: CommandWords): ReadJwks | undefined {
  const path = words.find(jwksOption.name)
  return path === undefined ? undefined : readJwksText(readFileOf('The keys', path))
}

export const clientKeyCommands: readonly Command[] = [
  {
    name: 'client keys',
    needs: 'reading',
    summary: 'Lists the public keys of a client: when each was added and last used.',
    positionals: ['client'],
    async run({ db, print }, { positional }) {
      const client = await getClient(db, positional('client'))
      const rows = (await listKeys(db, client.id)).map((key) => ({
        id: key.id,
        thumbprint: key.thumbprint,
        kid: key.kid,
        algorithm: key.algorithm,
        added_at: key.addedAt,
        last_used_at: key.lastUsedAt,
      }))
      print.table(rows, 'The client has no key.')
      const set = await findKeySet(db, client.id)
      if (set) print.say(`\n${describeSet(set)}`)
    },
  },
  {
    name: 'client add-key',
    needs: 'database',
    summary: 'Adds public keys to a client, good at once. Those that it has stay.',
    positionals: ['client'],
    options: [{ ...jwksOption, required: true }],
    async run({ db, act, print }, words) {
      const client = await getClient(db, words.positional('client'))
      const given = readJwksText(readFileOf('The keys', words.get(jwksOption.name)))
      print.record({ client_id: client.id, added_keys: await addKeys(db, client, given, act()) })
    },
  },
  {
    name: 'client read-keys',
    needs: 'database',
    summary:
      'Lets the worker read the keys of a client at an address: now, every ten minutes or as its answer says, and for an unknown key.',
    positionals: ['client'],
    options: [
      {
        name: 'jwks-uri',
        value: 'URL|none',
        required: true,
        meaning: 'where its JWKS is; none: the keys stay, and are read no more',
      },
    ],
    async run({ db, config, act, print }, words) {
      const client = await getClient(db, words.positional('client'))
      const said = words.get('jwks-uri')
      const jwksUri = said === 'none' ? null : said
      await placeKeys(db, client, { jwksUri, policy: config.webhooks }, act())
      print.record({ client_id: client.id, jwks_uri: jwksUri })
    },
  },
  {
    name: 'client remove-key',
    needs: 'database',
    summary: 'Removes a public key of a client: what it signs is refused from now on.',
    positionals: ['client', 'key id'],
    async run({ db, act, print }, { positional }) {
      const client = await getClient(db, positional('client'))
      const keyId = Number(positional('key id')) || 0
      await removeKey(db, client, keyId, act())
      print.record({ client_id: client.id, removed_key: keyId })
    },
  },
]

function describeSet({ jwksUri, readAt, failedSince, fault }: KeySet): string {
  const read = readAt === null ? 'not read so far' : `last read ${readAt.toISOString()}`
  const problem = failedSince === null ? 'Left out' : `Failing since ${failedSince.toISOString()}`
  return `Read at ${jwksUri}, ${read}.${fault === null ? '' : ` ${problem}: ${fault}.`}`
}

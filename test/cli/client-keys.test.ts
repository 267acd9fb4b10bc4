import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { openLastUse } from '../../src/oauth/last-use.ts'
import { makeKey, printJwks } from '../support/client-keys.ts'
import { keepOpen } from '../support/keep-open.ts'
import { secretFile } from '../support/process.ts'
import { openCommandLine } from './command-line.ts'

interface ListedKey {
  readonly id: number
  readonly thumbprint: string
  readonly last_used_at: string | null
}

const line = await keepOpen(openCommandLine())
await line.read('partner', 'create', '--name', 'Quant Desk', '--approve')
const draft = ['--partner', 'Quant Desk', '--callback', 'https://pal.example/cb', '--scope', 'read']
const create = (name: string, ...words: string[]) =>
  line.read('client', 'create', ...draft, '--name', name, ...words)
const keysOf = (id: unknown) => line.read<ListedKey[]>('client', 'keys', String(id))
const add = (id: unknown, text: string) => ['client', 'add-key', String(id), '--jwks', secretFile(text)]

async function addedActs(id: unknown): Promise<number> {
  const entries = await line.read<object[]>('audit', 'list', '--subject', `client:${id}`)
  return entries.filter((entry) => 'action' in entry && entry.action === 'client.key_added').length
}

test('keys are given when a client is made, listed, added and removed', async () => {
  const [first, second] = [makeKey('ES256', { kid: 'one' }), makeKey('PS256', { kid: 'two' })]
  const { id } = await create('Pal', '--jwks', secretFile(printJwks(first, second)))
  const keys = await keysOf(id)
  assert.equal(Object.keys(keys[0]!).join(' '), 'id thumbprint kid algorithm added_at last_used_at')
  assert.deepEqual(
    keys.map((key) => ({ ...key, id: 0, thumbprint: '', added_at: '' })),
    [
      { id: 0, thumbprint: '', kid: 'one', algorithm: 'ES256', added_at: '', last_used_at: null },
      { id: 0, thumbprint: '', kid: 'two', algorithm: 'PS256', added_at: '', last_used_at: null },
    ],
  )
  const third = JSON.stringify(makeKey('EdDSA').publicJwk)
  const { added_keys } = await line.read(...add(id, third))
  assert.equal((added_keys as string[]).length, 1)
  const removed = await line.read('client', 'remove-key', String(id), String(keys[0]!.id))
  assert.deepEqual(removed, { client_id: id, removed_key: keys[0]!.id })
  assert.deepEqual(
    (await keysOf(id)).map((key) => key.thumbprint),
    [keys[1]!.thumbprint, (added_keys as string[])[0]],
  )
  const again = await line.fail('client', 'remove-key', String(id), String(keys[0]!.id))
  assert.equal(again.stderr, `The client has no key ${keys[0]!.id}.\n`)
})

test('the same key again changes nothing', async () => {
  const key = makeKey()
  const { id } = await create('Same', '--jwks', secretFile(printJwks(key, key)))
  const before = await keysOf(id)
  assert.equal(before.length, 1)
  assert.deepEqual((await line.read(...add(id, printJwks(key)))).added_keys, [])
  assert.deepEqual(await keysOf(id), before)
  assert.equal(await addedActs(id), 1)
})

test('every fault of a set is told with its key, and nothing of the set is taken', async () => {
  const { id } = await create('Faulty')
  const short = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' })
  const set = [
    makeKey().publicJwk,
    { ...short, alg: 'PS256' },
    { ...makeKey('PS256').publicJwk, alg: 'RS256', kid: 'old' },
    { kty: 'oct', kid: 'shared' },
    makeKey('ES256', { use: 'enc', kid: '<b>' }).publicJwk,
  ]
  const { stderr } = await line.fail(...add(id, JSON.stringify({ keys: set })))
  assert.equal(
    stderr,
    `${[
      'jwks key 2 must have 2048 to 8192 bits',
      'jwks key 3 (old) must have the alg PS256',
      'jwks key 4 (shared) must have the kty EC, OKP or RSA',
      'jwks key 5 is not for signatures: its use must be sig',
    ].join('; ')}.\n`,
  )
  assert.deepEqual(await keysOf(id), [])
})

test('what is no set of keys is refused without being repeated', async () => {
  const { id } = await create('Nonsense')
  const eleven = printJwks(...Array.from({ length: 11 }, () => makeKey()))
  const cases: [string, string][] = [
    ['-----BEGIN PRIVATE KEY----- s3cr3t', 'jwks must be a JWKS in JSON.\n'],
    ['[]', 'jwks must be an object with keys.\n'],
    ['{"keys":{}}', 'jwks must be an object with keys.\n'],
    ['{"keys":[]}', 'jwks holds no key.\n'],
    ['{"keys":[1]}', 'jwks key 1 must be a JSON object.\n'],
    [eleven, 'jwks must hold at most 10 keys.\n'],
    [`{"keys":[${' '.repeat(16 * 1024)}]}`, 'jwks must have at most 16 KiB.\n'],
  ]
  for (const [text, expected] of cases) assert.equal((await line.fail(...add(id, text))).stderr, expected)
})

test('a client has ten keys at most', async () => {
  const { id } = await create(
    'Many',
    '--jwks',
    secretFile(printJwks(...Array.from({ length: 9 }, () => makeKey()))),
  )
  await line.read(...add(id, printJwks(makeKey())))
  const { stderr } = await line.fail(...add(id, printJwks(makeKey())))
  assert.equal(stderr, 'The client would have more than 10 keys. Remove those of before first.\n')
  assert.deepEqual([(await keysOf(id)).length, await addedActs(id)], [10, 10])
})

test('a private key is refused as burnt, and nothing of it is kept or said', async () => {
  const { id } = await create('Burnt')
  const { privateKey } = makeKey()
  const jwk = privateKey.export({ format: 'jwk' })
  const { stderr } = await line.fail(...add(id, JSON.stringify({ keys: [jwk] })))
  assert.match(
    stderr,
    /^jwks key 1 holds its private part\. Whoever has seen it can sign with it: make another key/,
  )
  const kept = await line.run('audit', 'list', '--json')
  for (const said of [stderr, kept.stdout]) assert.ok(!said.includes(jwk.d!) && !said.includes(jwk.x!))
  assert.deepEqual(await keysOf(id), [])
  const refused = await line.fail(
    'client',
    'create',
    ...draft,
    '--name',
    'Never',
    '--jwks',
    secretFile(JSON.stringify(jwk)),
  )
  assert.match(refused.stderr, /holds its private part/)
  const clients = await line.read<{ name: string }[]>('client', 'list')
  assert.ok(!clients.some((client) => client.name === 'Never'))
})

test('the last use of a key is written down', async () => {
  const { id } = await create('Used', '--jwks', secretFile(printJwks(makeKey())))
  const [key] = await keysOf(id)
  const lastUse = openLastUse(line.db)
  lastUse.ofKey(key!.id, new Date('2030-01-01T00:00:00Z'))
  await lastUse.flush()
  assert.equal((await keysOf(id))[0]!.last_used_at, '2030-01-01T00:00:00.000Z')
})

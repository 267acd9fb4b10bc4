import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseToken } from '../../src/crypto/token.ts'
import { getClient } from '../../src/partners/client.ts'
import { askForScopes } from '../../src/partners/scope-request.ts'
import { ask } from '../support/ask.ts'
import { newFolder } from '../support/folder.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openCommandLine, parseRecord, parseTable } from './command-line.ts'

const line = await keepOpen(openCommandLine())
const shownOnce: string[] = []

const create = (...words: string[]) => ['client', 'create', '--partner', 'Quant Desk', ...words]

const profile = (name: string, ...words: string[]) => ['client', 'profile', id, '--profile', name, ...words]

await line.read('partner', 'create', '--name', 'Quant Desk', '--approve')
const pal = ['--name', 'Portfolio Pal', '--callback', 'https://pal.example/cb', '--scope', 'trade,read']
const made = await line.runApart(...create(...pal))
assert.equal(made.code, 0, made.stderr)
const record = parseRecord(made.stdout)
assert.match(made.stdout, /\nKeep the secret now: it is not shown again\.\n$/)
assert.deepEqual([record.environment, record.scopes, record.status], ['live', 'read trade', 'active'])
shownOnce.push(record.client_secret!)
const id = record.id!

test('an id is 24 letters and digits, a secret one that parses, and with --json there is nothing but JSON', async () => {
  assert.match(id, /^[A-Za-z0-9]{24}$/)
  assert.equal(parseToken(shownOnce[0]!)?.kind, 'clientSecret')
  const words = [
    '--name',
    'Test',
    '--callback',
    'http://localhost:3000/cb',
    '--scope',
    'read',
    '--environment',
    'sandbox',
  ]
  const made = await line.read(...create(...words, '--rotate-refresh-tokens', 'on'))
  assert.deepEqual([made.environment, made.rotate_refresh_tokens], ['sandbox', true])
  const secret = parseToken(String(made.client_secret))
  assert.deepEqual([secret?.kind, secret?.environment], ['clientSecret', 'sandbox'])
  shownOnce.push(String(made.client_secret))
})

test('programs read a client and its secrets by these names, in this order', async () => {
  const names =
    'id partner branch_id environment name callback_url scopes scopes_at_most scopes_required status rotate_refresh_tokens profile fapi2_from bearers dpop_nonces certificate_subject created_at'
  const list = async (...words: string[]) =>
    JSON.parse((await line.run(...words, '--json')).stdout) as object[]
  assert.equal(Object.keys(await line.read('client', 'show', id)).join(' '), `${names} secrets`)
  assert.equal(Object.keys((await list('client', 'list'))[0]!).join(' '), names)
  const [secret] = await list('client', 'secrets', id)
  assert.equal(Object.keys(secret!).join(' '), 'id hint created_at signs_from expires_at last_used_at')
})

test('a client is listed, shown and changed', async () => {
  const changed = await line.read(
    'client',
    'update',
    id,
    '--name',
    'Pal',
    '--scope',
    'read',
    '--callback',
    'https://pal.example/2',
  )
  assert.deepEqual(
    [changed.name, changed.scopes, changed.callback_url],
    ['Pal', ['read'], 'https://pal.example/2'],
  )
  assert.deepEqual(await line.read('client', 'suspend', id), { client_id: id, status: 'suspended' })
  const table = parseTable((await line.run('client', 'list', '--partner', 'Quant Desk')).stdout)
  assert.equal(table.find((row) => row.id === id)?.status, 'suspended')
  assert.deepEqual(await line.read('client', 'activate', id), { client_id: id, status: 'active' })
})

test('the subject of its certificate is a name, which stands in the audit log, and an empty one removes it', async () => {
  const set = (subject: string) => line.read('client', 'update', id, '--certificate-subject', subject)
  const subject = 'CN=pal.example,O=Portfolio\\, Pal,C=US'
  assert.equal((await set(subject)).certificate_subject, subject)
  assert.equal((await line.read('client', 'show', id)).certificate_subject, subject)
  for (const wrong of ['pal.example', '/C=US/CN=pal.example\n', `CN=${'x'.repeat(500)}`]) {
    const { code, stderr } = await line.fail('client', 'update', id, '--certificate-subject', wrong)
    assert.equal(code, 1)
    assert.match(stderr, /certificateSubject must (?:be a distinguished name|have at most 500 characters)/)
  }
  assert.equal((await set('')).certificate_subject, null)
})

test('a rotation shows the new secret once and says when the old one ends; a third secret is refused', async () => {
  const rotated = await line.read('client', 'rotate-secret', id, '--overlap', '12h')
  shownOnce.push(String(rotated.client_secret))
  const endsInHours = (new Date(String(rotated.old_secret_ends_at)).getTime() - Date.now()) / 3_600_000
  assert.ok(endsInHours > 11.9 && endsInHours <= 12)
  const { code, stderr } = await line.fail('client', 'rotate-secret', id)
  assert.equal(code, 1)
  const remedy = `Revoke one first. "countersign client secrets ${id}" lists them.`
  assert.equal(stderr, `The client has two live secrets already. ${remedy}\n`)
  const [old, newest] = parseTable((await line.run('client', 'secrets', id)).stdout)
  assert.notEqual(old!.expires_at, '-')
  assert.equal(newest!.expires_at, '-')
  assert.equal(newest!.hint, shownOnce.at(-1)!.slice(-4))
  assert.deepEqual(await line.read('client', 'revoke-secret', id, old!.id!), {
    client_id: id,
    revoked_secret: Number(old!.id),
  })
  assert.deepEqual(await line.fail('client', 'revoke-secret', id, old!.id!), {
    code: 1,
    stderr: `The client has no live secret ${old!.id}.\n`,
  })
})

test('a rotation may leave signing to the old secret for a while, within the overlap', async () => {
  const tooLong = await line.fail('client', 'rotate-secret', id, '--overlap', '1h', '--switch-after', '2h')
  assert.match(tooLong.stderr, /switchAt must lie between now and the end of the old secret/)
  const rotated = await line.read('client', 'rotate-secret', id, '--overlap', '2h', '--switch-after', '1h')
  shownOnce.push(String(rotated.client_secret))
  const signsInHours = (new Date(String(rotated.signs_webhooks_from)).getTime() - Date.now()) / 3_600_000
  assert.ok(signsInHours > 0.9 && signsInHours <= 1)
  const listed = await line.read<{ id: number; signs_from: string }[]>('client', 'secrets', id)
  assert.equal(listed.at(-1)!.signs_from, rotated.signs_webhooks_from)
  await line.read('client', 'revoke-secret', id, String(listed[0]!.id))
})

test('a secret whose overlap is over is no longer listed as live', async () => {
  const rotated = await line.read('client', 'rotate-secret', id, '--overlap', '0s')
  shownOnce.push(String(rotated.client_secret))
  const listed = await line.read<{ hint: string }[]>('client', 'secrets', id)
  assert.deepEqual(
    listed.map((secret) => secret.hint),
    [shownOnce.at(-1)!.slice(-4)],
  )
})

test('no command shows a secret a second time', async () => {
  const outputs = await Promise.all([
    line.run('client', 'show', id),
    line.run('client', 'show', id, '--json'),
    line.run('client', 'list', '--json'),
    line.run('client', 'secrets', id, '--json'),
    line.run('audit', 'list', '--json'),
  ])
  assert.equal(shownOnce.length, 5)
  for (const { stdout } of outputs) {
    assert.ok(stdout.length > 50)
    for (const secret of shownOnce) assert.ok(!stdout.includes(secret.slice(4, 40)))
  }
})

test('all mistakes of a new client are reported at once, and nothing is made', async () => {
  const before = await line.read<unknown[]>('client', 'list')
  const { code, stderr } = await line.fail(
    ...create('--name', ' ', '--callback', 'http://pal.example/#x', '--scope', 'read,fly'),
  )
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^name must have 1 to 100 characters; callback [^;]+; scope has the unknown word "fly"\.\n$/,
  )
  assert.equal((await line.read<unknown[]>('client', 'list')).length, before.length)
})

test('what cannot be is refused with code 1 and a sentence', async () => {
  const good = ['--name', 'X', '--callback', 'https://x.example/', '--scope', 'read']
  const cases: [string[], string][] = [
    [['client', 'create', '--partner', 'Nobody', ...good], 'There is no partner "Nobody".\n'],
    [create(...good, '--environment', 'test'), 'environment must be live or sandbox.\n'],
    [create(...good, '--rotate-refresh-tokens', 'yes'), 'rotate-refresh-tokens must be on or off.\n'],
    [['client', 'show', 'nobody'], 'There is no client "nobody".\n'],
    [
      ['client', 'rotate-secret', id, '--overlap', 'soon'],
      'overlap must be a number with s, m, h or d, such as 7d.\n',
    ],
    [['client', 'revoke-secret', id, '999999'], 'The client has no live secret 999999.\n'],
  ]
  const done = await Promise.all(cases.map(([words]) => line.fail(...words)))
  assert.deepEqual(
    done,
    cases.map(([, stderr]) => ({ code: 1, stderr })),
  )
})

test('FAPI 2.0 begins at a moment or at once, and what stands in the way is said', async () => {
  const moving = await line.read(...profile('fapi2', '--from', '2999-01-01', '--bearers', 'live-out'))
  assert.deepEqual(moving, {
    ...{ id, profile: 'moving', fapi2_from: '2999-01-01T00:00:00.000Z' },
    ...{ bearers: 'live-out', dpop_nonces: 'off' },
  })
  const early = await line.fail(...profile('fapi2'))
  assert.match(early.stderr, /^The client cannot have FAPI 2\.0 yet\. It has no key to prove itself by/)
  await ask(line.db, "UPDATE clients SET jwks_uri = 'https://pal.example/jwks' WHERE id = $1", [id])
  const now = await line.read(...profile('fapi2', '--dpop-nonces', 'on'))
  assert.deepEqual([now.profile, now.bearers, now.dpop_nonces], ['fapi2', 'live-out', 'on'])
  assert.equal((await line.read(...profile('fapi2'))).fapi2_from, now.fapi2_from, 'it keeps its moment')
  assert.equal((await line.read('client', 'show', id)).profile, 'fapi2')
  const rotated = await line.fail('client', 'rotate-secret', id)
  assert.match(rotated.stderr, /^The client has FAPI 2\.0 and no secret\./)
  const back = await line.read(...profile('standard'))
  assert.deepEqual([back.profile, back.fapi2_from], ['standard', null])
})

test('words of a profile that cannot be are named', async () => {
  for (const [words, message] of [
    [profile('fapi'), 'profile must be standard or fapi2.'],
    [profile('fapi2', '--bearers', 'stay'), 'bearers must be end or live-out.'],
    [profile('fapi2', '--dpop-nonces', 'yes'), 'dpop-nonces must be on or off.'],
    [
      profile('fapi2', '--from', 'tomorrow'),
      'from must be a day or a time with its zone, such as 2027-03-01.',
    ],
    [
      profile('fapi2', '--from', '2020-01-01'),
      'from must not lie in the past; leave it out to switch at once.',
    ],
    [
      profile('standard', '--from', '2999-01-01'),
      'from goes with --profile fapi2: the standard begins at once.',
    ],
  ] as const)
    assert.deepEqual(await line.fail(...words), { code: 1, stderr: `${message}\n` }, words.join(' '))
})

test('a client that is made with FAPI 2.0 and has no key is not made', async () => {
  const words = ['--name', 'Keyless', '--callback', 'https://key.example/cb', '--scope', 'read']
  const { stderr } = await line.fail(...create(...words, '--profile', 'fapi2'))
  assert.match(stderr, /It has no key to prove itself by/)
  const table = parseTable((await line.run('client', 'list')).stdout)
  assert.ok(!table.some((row) => row.name === 'Keyless'))
})

test('a client that is made with FAPI 2.0 and its keys has no secret', async () => {
  const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const file = join(newFolder('jwks'), 'keys.json')
  writeFileSync(file, JSON.stringify({ keys: [{ ...jwk, alg: 'ES256' }] }))
  const words = ['--name', 'Bound', '--callback', 'https://bound.example/cb', '--scope', 'read']
  const made = await line.read(...create(...words, '--profile', 'fapi2', '--jwks', file))
  assert.deepEqual([made.profile, made.bearers, 'client_secret' in made], ['fapi2', 'end', false])
  const { secrets } = await line.read('client', 'show', String(made.id))
  assert.deepEqual(secrets, [])
})

test('scopes at most are set, and what a partner asked for is shown, granted and declined', async () => {
  const words = ['--name', 'Asker', '--callback', 'https://asker.example/cb', '--scope', 'read']
  const { id: asker } = await line.read(...create(...words))
  const asks = async (wider: string) => {
    const client = await getClient(line.db, String(asker))
    const act = { by: { name: 'user:test' }, at: new Date() }
    await askForScopes(line.db, client, { wider, reason: 'orders' }, act)
  }
  await asks('trade')
  const shown = await line.read('client', 'show', String(asker))
  assert.deepEqual([shown.asks_for_scopes, shown.asks_because], [['trade'], 'orders'])
  const granted = await line.read('client', 'grant-scopes', String(asker))
  assert.deepEqual(
    [granted.scopes, granted.scopes_at_most],
    [
      ['read', 'trade'],
      ['read', 'trade'],
    ],
  )
  await asks('write')
  assert.deepEqual((await line.read('client', 'decline-scopes', String(asker))).scopes_at_most, [
    'read',
    'trade',
  ])
  const none = await line.run('client', 'grant-scopes', String(asker))
  assert.match(none.stderr, /No wider scopes are asked for/)
  const set = await line.read('client', 'update', String(asker), '--scope', 'read,market')
  assert.deepEqual(
    [set.scopes, set.scopes_at_most],
    [
      ['read', 'market'],
      ['read', 'market'],
    ],
  )
})

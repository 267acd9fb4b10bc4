/** API tokens, authorizations and services. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issueToken, parseToken } from '../../src/crypto/token.ts'
import { ask } from '../support/ask.ts'

import { keepOpen } from '../support/keep-open.ts'
import { secretFile } from '../support/process.ts'
import { openCommandLine, parseRecord, parseTable } from './command-line.ts'

const line = await keepOpen(openCommandLine())
await line.read('user', 'create', '--username', 'ada', '--name', 'Ada')

test('an API token is shown once, listed by its last letters, and revoked by its number', async () => {
  const made = await line.runApart('token', 'create', '--user', 'ada', '--name', 'reports')
  const { token, id } = parseRecord(made.stdout) as { token: string; id: string }
  assert.equal(parseToken(token)?.kind, 'personal')
  const [row] = parseTable((await line.run('token', 'list', '--user', 'ada')).stdout)
  assert.deepEqual([row!.id, row!.name, row!.hint, row!.last_used_at], [id, 'reports', token.slice(-4), '-'])
  const [listed] = await line.read<object[]>('token', 'list', '--user', 'ada')
  assert.deepEqual(Object.keys(listed!), [
    'id',
    'environment',
    'name',
    'scopes',
    'hint',
    'created_at',
    'ends_at',
    'last_used_at',
  ])
  assert.ok(!JSON.stringify(listed).includes(token))
  assert.deepEqual(await line.read('token', 'revoke', id), { revoked_token: Number(id) })
  assert.equal((await line.run('token', 'list', '--user', 'ada')).stdout, 'The user has no API tokens.\n')
  assert.deepEqual(await line.fail('token', 'revoke', id), {
    code: 1,
    stderr: `There is no living API token ${id}.\n`,
  })
})

test('a leaked token is revoked by itself', async () => {
  const made = await line.read(
    'token',
    'create',
    '--user',
    'ada',
    '--name',
    'leaked',
    '--environment',
    'sandbox',
  )
  assert.equal(parseToken(String(made.token))?.environment, 'sandbox')
  assert.deepEqual(
    await line.read('token', 'revoke-leaked', '--token-file', secretFile(String(made.token))),
    {
      revoked_token: made.id,
    },
  )
  const cases: [string, string][] = [
    [issueToken('personal', 'live').text, 'There is no such token.\n'],
    ['garbage', 'token must be an API token.\n'],
    [issueToken('access', 'live').text, 'token must be an API token.\n'],
  ]
  for (const [token, stderr] of cases)
    assert.deepEqual(await line.fail('token', 'revoke-leaked', '--token-file', secretFile(token)), {
      code: 1,
      stderr,
    })
})

test('authorizations are listed by user and client, and revoked with a reason', async () => {
  await line.read('partner', 'create', '--name', 'Quant', '--approve')
  const client = await line.read(
    ...['client', 'create', '--partner', 'Quant', '--name', 'Pal'],
    ...['--callback', 'https://pal.example/', '--scope', 'read'],
  )
  await ask(
    line.db,
    `INSERT INTO authorizations (user_id, client_id, scopes, account_numbers, approved_at, consented_at)
       SELECT id, $1, '{read}', '{}', now(), now() FROM users WHERE username = 'ada'`,
    [client.id],
  )
  const [row] = parseTable((await line.run('authorization', 'list', '--user', 'ada')).stdout)
  assert.deepEqual([row!.client_name, row!.scopes, row!.environment], ['Pal', 'read', 'live'])
  const own = ['--client', String(client.id)]
  for (const words of [[], ['--user', 'ada'], own, ['--user', 'ada', ...own]]) {
    const listed = await line.read<object[]>('authorization', 'list', ...words)
    assert.equal(listed.length, 1, words.join(' '))
    assert.deepEqual(Object.keys(listed[0]!), [
      ...[
        'id',
        'user_id',
        'user_name',
        'client_name',
        'environment',
        'scopes',
        'approved_at',
        'last_used_at',
        'paused_at',
      ],
    ])
  }
  await line.read('user', 'create', '--username', 'grace', '--name', 'Grace')
  for (const words of [
    ['--user', 'grace'],
    ['--client', 'nobody'],
    ['--user', 'ada', '--client', 'nobody'],
  ])
    assert.deepEqual(await line.read('authorization', 'list', ...words), [], words.join(' '))
  const id = Number(row!.id)
  assert.deepEqual(await line.read('authorization', 'revoke', String(id), '--reason', 'asked to'), {
    revoked_authorization: id,
  })
  assert.deepEqual(await line.read('authorization', 'list', '--client', String(client.id)), [])
  const [stored] = await ask<{ revoked_reason: string }>(line.db, 'SELECT revoked_reason FROM authorizations')
  assert.equal(stored!.revoked_reason, 'asked to')
})

test('a number that is none is refused in words of this world', async () => {
  for (const id of ['abc', '-1', '99999999999999999999']) {
    const { code, stderr } = await line.fail('authorization', 'revoke', '--reason', 'x', '--', id)
    assert.equal(code, 1)
    assert.doesNotMatch(stderr, /bigint|syntax|range/, `"${id}": no words of SQL`)
    assert.match(stderr, new RegExp(id), 'it names what was typed')
  }
})

test('the secret of a service is shown once, and a revoked service is gone', async () => {
  const made = await line.read('service', 'create', '--name', 'orders')
  assert.equal(parseToken(String(made.secret))?.kind, 'serviceSecret')
  const listed = await line.run('service', 'list')
  assert.deepEqual(
    [parseTable(listed.stdout)[0]!.name, parseTable(listed.stdout)[0]!.revoked_at],
    ['orders', '-'],
  )
  assert.ok(!listed.stdout.includes(String(made.secret)))
  assert.deepEqual(await line.read('service', 'revoke', String(made.id)), { revoked_service: made.id })
  assert.deepEqual(await line.fail('service', 'revoke', String(made.id)), {
    code: 1,
    stderr: `There is no living service "${made.id}".\n`,
  })
})

test('for which sources a service may provision is said when it is created, and can be changed', async () => {
  const create = ['service', 'create', '--name', 'core', '--provision', 'core', '--provision', 'crm']
  assert.match(
    (await line.fail(...create)).stderr,
    /provision names "crm", and there is no such source\. Name it first: countersign source create crm\./,
  )
  for (const source of ['crm', 'books']) await line.read('source', 'create', source)
  const made = await line.read(...create)
  const id = String(made.id)
  assert.deepEqual(made.may_provision, ['core', 'crm'])
  const update = async (...words: string[]) =>
    (await line.read('service', 'update', id, ...words)).may_provision
  assert.deepEqual(await update('--provision', 'books', '--no-provision', 'crm'), ['books', 'core'])
  assert.deepEqual(await update('--no-provision', 'books', '--no-provision', 'core'), [])
  assert.match(
    (await line.fail('service', 'update', id)).stderr,
    /--provision, --no-provision, --sees, --audience/,
  )
  const wrong = await line.fail('service', 'update', id, '--provision', 'Core, CRM')
  assert.match(wrong.stderr, /provision must name a source, such as core.*not "Core, CRM"/)
  assert.deepEqual((await line.read('service', 'create', '--name', 'orders')).may_provision, [])
})

test('what a service learns of tokens, and what it protects, is said when it is created, and can be changed', async () => {
  const usual = await line.read('service', 'create', '--name', 'quotes')
  assert.deepEqual([usual.sees, usual.audience], [['username', 'client', 'accounts'], null])
  const audience = 'https://orders.example.com'
  const create = ['service', 'create', '--name', 'trading', '--sees', 'sign-in', '--sees', 'accounts']
  const made = await line.read(...create, '--audience', audience)
  assert.deepEqual([made.sees, made.audience], [['accounts', 'sign-in'], audience])
  const update = async (...words: string[]) => {
    const { sees, audience: protects } = await line.read('service', 'update', String(made.id), ...words)
    return [sees, protects]
  }
  assert.deepEqual(await update('--sees', 'customer'), [['customer'], audience])
  assert.deepEqual(await update('--no-audience'), [['customer'], null])
  assert.deepEqual(await update('--sees-nothing', '--audience', audience), [[], audience])
  const wrong = await line.fail('service', 'update', String(made.id), '--sees', 'everything')
  assert.match(wrong.stderr, /sees must be one of username, client, partner/)
})

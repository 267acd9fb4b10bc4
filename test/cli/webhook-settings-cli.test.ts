/**
 * What is chosen for a webhook from the command line: the same settings as by the interface and in the
 * portal.
 */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask } from '../support/ask.ts'

import { keepOpen } from '../support/keep-open.ts'
import { makeFolder, secretFile } from '../support/process.ts'
import { openCommandLine } from './command-line.ts'

const line = await keepOpen(openCommandLine())
const folder = makeFolder()
const url = 'https://app.example.com/hooks'
const of = ['--partner', 'Quant Desk']

await line.read('partner', 'create', '--name', 'Quant Desk', '--approve')

interface PrintedSettings {
  readonly id: number
  readonly url: string
  readonly kinds: readonly string[]
  readonly actions: object
  readonly rate_limit: number | null
  readonly headers: readonly string[]
  readonly description: string
}

let files = 0

function headersFile(...lines: string[]): string {
  const path = join(folder, `headers-${++files}`)
  writeFileSync(path, lines.join('\n'), { mode: 0o600 })
  return path
}

const create = (...words: string[]) => ['webhook', 'create', ...of, '--url', url, ...words]
const withSecret = () => ['--secret-file', secretFile('a secret of its own')]
const update = (id: number, ...words: string[]) => ['webhook', 'update', String(id), ...of, ...words]
const chosen = ({ kinds, actions, rate_limit, headers, description }: PrintedSettings) => ({
  ...{ kinds, actions, rate_limit, headers, description },
})

test('a webhook is created with actions, a rate limit, headers and a description, and each is changed by itself', async () => {
  const headers = headersFile('X-Api-Key: sesame: open', '', 'X-Route:blue')
  const made = await line.read<PrintedSettings>(
    ...create(...withSecret(), '--kinds', 'TRANSACTION,APPLICATION', '--rate-limit', '10'),
    ...['--actions', 'TRANSACTION.COMPLETED, APPLICATION.REJECTED APPLICATION.APPROVED'],
    ...['--headers-file', headers, '--description', 'Ledger, production'],
  )
  const first = {
    kinds: ['TRANSACTION', 'APPLICATION'],
    actions: { TRANSACTION: ['COMPLETED'], APPLICATION: ['APPROVED', 'REJECTED'] },
    ...{ rate_limit: 10, headers: ['x-api-key', 'x-route'], description: 'Ledger, production' },
  }
  assert.deepEqual(chosen(made), first)
  const change = (...words: string[]) => line.read<PrintedSettings>(...update(made.id, ...words))
  assert.deepEqual(chosen(await change('--rate-limit', 'none')), { ...first, rate_limit: null })
  assert.deepEqual((await change('--actions', 'all')).actions, {})
  assert.deepEqual((await change('--remove-header', 'X-Route')).headers, ['x-api-key'])
  assert.deepEqual((await change('--headers-file', headersFile('x-b: 1'))).headers, ['x-api-key', 'x-b'])
  assert.equal((await change('--description', '')).description, '')
  const moved = await change('--url', `${url}/2`, '--kinds', 'ACH_PROFILE')
  assert.deepEqual([moved.url, moved.kinds], [`${url}/2`, ['ACH_PROFILE']])
  const listed = await line.read<{ description: string }[]>('webhook', 'list', ...of)
  assert.deepEqual(
    listed.map(({ description }) => description),
    [''],
  )
  assert.doesNotMatch(JSON.stringify([made, moved, listed]), /sesame/)
  const stored = await ask<{ line: string }>(line.db, 'SELECT t::text AS line FROM webhook_headers t')
  assert.ok(stored.length === 2 && stored.every((row) => !row.line.includes('sesame')))
})

test('what is wrong is said by the name of the option, and nothing is changed', async () => {
  const made = await line.read<PrintedSettings>(...create(...withSecret(), '--kinds', 'TRANSACTION'))
  const wrong: [words: string[], code: number, message: RegExp][] = [
    [['--rate-limit', '0'], 1, /^--rate-limit must be a whole number from 1 to 1000, or none\.$/],
    [['--rate-limit', '1.5'], 1, /^--rate-limit must be a whole number from 1 to 1000, or none\.$/],
    [
      ['--actions', 'COMPLETED'],
      1,
      /^--actions must name some actions, such as TRANSACTION\.COMPLETED, or all\.$/,
    ],
    [
      ['--actions', 'TRANSACTION.SOLD'],
      1,
      /^--actions must name some of TRANSACTION\.SUBMITTED, TRANSACTION\.APPROVED/,
    ],
    [
      ['--actions', 'APPLICATION.PENDING'],
      1,
      /^--actions names APPLICATION, which is not among the kinds\.$/,
    ],
    [['--kinds', 'WEATHER'], 1, /^--kinds must be some of TRANSACTION, /],
    [['--url', 'http://app.example.com'], 1, /^--url /],
    [
      ['--description', 'x'.repeat(201)],
      1,
      /^--description must be one line of at most 200 characters that can be seen\.$/,
    ],
    [['--headers-file', headersFile('Host: elsewhere')], 1, /^--headers-file must not have host: /],
    [
      ['--headers-file', headersFile('X-A: 1', 'hunter2')],
      1,
      /^--headers-file must have Name: value on line 2\.$/,
    ],
    [['--headers-file', join(folder, 'none')], 2, /^The secret could not be read: /],
    [
      [],
      2,
      /^Say what to change: --url, --kinds, --actions, --rate-limit, --headers-file, --description, --remove-header\.$/,
    ],
  ]
  for (const [words, code, message] of wrong) {
    const failed = await line.fail(...update(made.id, ...words))
    assert.equal(failed.code, code, words.join(' '))
    assert.match(failed.stderr.trim(), message)
    assert.doesNotMatch(failed.stderr, /hunter2/)
  }
  const twice = await line.fail(...update(made.id, '--headers-file', headersFile('x-a: 1', 'X-A: 2')))
  assert.match(twice.stderr, /^--headers-file and --remove-header must name each header once; x-a is twice/)
  assert.deepEqual(
    chosen(await line.read<PrintedSettings>('webhook', 'pause', String(made.id), ...of)),
    chosen(made),
  )
  const refused = await line.fail(...create('--rate-limit', '5000', ...withSecret()))
  assert.match(refused.stderr, /^--rate-limit /)
  const both = await line.fail(...create('--secret-file', '-', '--headers-file', '-'))
  assert.match(both.stderr, /^Standard input holds one thing/)
})

test('headers that were given for a host do not follow the webhook to another', async () => {
  const made = await line.read<PrintedSettings>(
    ...create(...withSecret(), '--headers-file', headersFile('X-Api-Key: sesame')),
  )
  const moved = update(made.id, '--url', 'https://elsewhere.example.com/hooks')
  assert.match(
    (await line.fail(...moved)).stderr,
    /^--headers-file were given for https:\/\/app\.example\.com: /,
  )
  assert.deepEqual((await line.read<PrintedSettings>(...moved, '--remove-header', 'x-api-key')).headers, [])
})

test('the help of both commands names every setting', async () => {
  for (const name of ['create', 'update']) {
    const { stdout } = await line.run('webhook', name, '--help')
    for (const option of [
      'kinds KINDS',
      'actions ACTIONS',
      'rate-limit N',
      'headers-file FILE',
      'description TEXT',
    ])
      assert.match(stdout, new RegExp(`--${option} +\\S`), `${name} ${option}`)
  }
  assert.match((await line.run('webhook', 'update', '--help')).stdout, /--remove-header NAME +\S/)
})

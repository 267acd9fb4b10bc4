import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseKey } from '../../src/crypto/vault.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openCommandLine, parseTable } from './command-line.ts'

const line = await keepOpen(openCommandLine())

test('keys are listed by their ids, never by themselves, and the first one seals', async () => {
  const [older, newer] = await Promise.all(
    [1, 2].map(async () => (await line.run('keys', 'generate')).stdout.trim()),
  )
  line.settings.SECRET_KEY = `${newer},${older}`
  const listed = await line.runApart('keys', 'list')
  assert.deepEqual(parseTable(listed.stdout), [
    { id: parseKey(newer!)!.id, seals: 'true' },
    { id: parseKey(older!)!.id, seals: 'false' },
  ])
  assert.ok(!listed.stdout.includes(newer!) && !listed.stdout.includes(older!))
})

test('with keys in the environment a rotation seals with the first one, and pruning says what may go', async () => {
  const [first, second] = line.settings.SECRET_KEY!.split(',').map((text) => parseKey(text)!.id)
  assert.deepEqual(await line.read('keys', 'rotate'), {
    current_key: first,
    secrets_sealed_anew: 0,
    older_keys: [second],
  })
  const { stdout, code } = await line.run('keys', 'prune')
  assert.equal(code, 0)
  assert.match(stdout, /SECRET_KEY may now hold it alone/)
})

/** Words, and the values that they become. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseWords, UsageError } from './command.ts'

const verify = {
  ...{ name: 'audit verify', summary: '' },
  options: [{ name: 'key', value: 'KEY', meaning: '' }],
}
const keyOf = (...args: string[]) => parseWords(verify, args).get('key')

test('a value may begin with "-", as one key in 64 does; an option is none', () => {
  for (const key of [
    '-rJ0Yv7yUI4pQbNYFztRi24ZTaQ5PbXNLZf8vWhC16M',
    '--J0Yv7yUI4pQbNYFztRi24ZTaQ5PbXNLZf8vWhC16M',
  ])
    for (const args of [['--key', key], [`--key=${key}`]]) assert.equal(keyOf(...args), key)
  assert.equal(keyOf('--key', '-'), '-')
  assert.equal(keyOf('--key=--json'), '--json')
  for (const option of ['--json', '--jsno', '--from=2026-03-02', '--x509', '-h'])
    assert.throws(() => keyOf('--key', option), UsageError, option)
})

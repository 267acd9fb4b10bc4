import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { explain } from './system-errors.ts'

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('what the system refuses is told in words, with the file or the address', async () => {
  assert.equal(explain(thrownBy(() => readFileSync('/nowhere/at all'))), 'There is no file /nowhere/at all.')
  assert.equal(explain(thrownBy(() => readFileSync('/'))), 'That is a folder; name a file.')
  const refused = await new Promise((resolve) => connect(1, '127.0.0.1').once('error', resolve))
  assert.equal(explain(refused), 'Nothing answers at 127.0.0.1:1.')
  assert.equal(explain(new AggregateError([refused, refused])), 'Nothing answers at 127.0.0.1:1.')
})

test('an error of ours says what it says', () => {
  assert.equal(explain(new Error('There is no partner "Quant".')), 'There is no partner "Quant".')
  assert.equal(explain('gone'), 'gone')
})

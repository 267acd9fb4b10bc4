import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/support/text.ts'
import { signText } from './hash.ts'

const text = anyText({ maxLength: 300 })

test('property: a signed text is signed as Node signs it, whatever the secret, the text and their lengths', () => {
  fc.assert(
    fc.property(text, text, fc.constantFrom('hex', 'base64'), (secret, body, encoding) => {
      assert.equal(
        signText(secret, body, encoding),
        createHmac('sha256', secret).update(body).digest(encoding),
      )
    }),
    { numRuns: 1_000 },
  )
})

test('secrets around the length of a block are no exception', () => {
  for (const length of [0, 1, 63, 64, 65, 128, 1_000]) {
    const secret = 'k'.repeat(length)
    assert.equal(signText(secret, 'body', 'hex'), createHmac('sha256', secret).update('body').digest('hex'))
  }
})

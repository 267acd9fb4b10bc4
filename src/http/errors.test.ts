import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCodes } from 'fastify'
import { toProblem } from './errors.ts'

const all = Object.values(errorCodes).map((Refusal) => new Refusal())

test('a refusal of the framework stays a refusal, whether the table knows it or not, and tells nothing of the inside', () => {
  const refusals = all.filter(({ statusCode }) => statusCode !== undefined && statusCode < 500)
  assert.ok(refusals.length > 5)
  for (const refusal of refusals) {
    const { status, code, message } = toProblem(refusal)
    assert.ok(status >= 400 && status < 500, `${refusal.code}: ${status}`)
    assert.match(code, /^(invalid_request|not_found)$/, refusal.code)
    assert.doesNotMatch(message, /FST_|fastify/i, refusal.code)
  }
})

test('a fault of our own is a 500, whatever it carries', () => {
  const faults = all.filter(({ statusCode }) => statusCode === undefined || statusCode >= 500)
  for (const fault of faults) assert.equal(toProblem(fault).status, 500, fault.code)
  for (const code of ['constructor', '__proto__', 'toString', 'ECONNRESET', '22P02']) {
    const error = Object.assign(new Error('inside'), { code, statusCode: 404 })
    assert.equal(toProblem(error).status, 500, code)
  }
})

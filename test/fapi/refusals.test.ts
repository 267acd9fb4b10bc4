/**
 * Every refusal of the profile, by the specification that wants it. Each check of assertions and proofs, and
 * each demand of the profile, has a row at least: what can be refused, is.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertionChecks } from '../../src/oauth/client-assertion.ts'
import { dpopChecks } from '../../src/oauth/dpop.ts'
import { demandNames } from '../../src/oauth/profile.ts'
import type { Answer } from '../support/browser.ts'
import { ruleOf } from '../support/refusal-rules.ts'
import { house } from './refusals/house.ts'
import { ofAssertions } from './refusals/of-assertions.ts'
import { ofGrants } from './refusals/of-grants.ts'
import { ofProofs } from './refusals/of-proofs.ts'
import { ofRequests } from './refusals/of-requests.ts'

const rows = [...ofAssertions, ...ofProofs, ...ofRequests, ...ofGrants]

/** Whoever judges, and on the callback or in the answer itself. */
function errorOf({ location, json }: Answer): unknown {
  return location === undefined ? json().error : new URL(location, house.baseUrl).searchParams.get('error')
}

for (const { source, sent, rule, error, status, send } of rows)
  test(`${source}: ${sent}`, async () => {
    const answer = await send()
    const refused = { error: errorOf(answer), status: answer.status, rule: undefined as string | undefined }
    if (refused.status !== 405) refused.rule = ruleOf(String(answer.headers['x-request-id']))
    const expected = status ?? (error === 'invalid_client' ? 401 : 400)
    assert.deepEqual(refused, { error, status: expected, rule }, answer.text || answer.location)
    if (answer.location === undefined) assert.equal(answer.headers['cache-control'] ?? 'no-store', 'no-store')
    if (error === 'use_dpop_nonce') assert.ok(answer.headers['dpop-nonce'])
  })

test('every check of an assertion and of a proof, and every demand of the profile, has its row', () => {
  const told = [
    ...assertionChecks.map((check) => `assertion-${check}`),
    ...dpopChecks.map((check) => `dpop-${check}`),
    ...demandNames.map((name) => `fapi-${name}`),
    ...['assertion-certificate', 'dpop-missing', 'token-scheme', 'token-certificate'],
  ]
  assert.deepEqual([...new Set(rows.flatMap(({ rule }) => rule ?? []))].sort(), told.sort())
  assert.equal(new Set(rows.map(({ source, sent }) => source + sent)).size, rows.length)
})

/**
 * What openapi-typescript makes of the document compiles, refuses what the document refuses, and works
 * against a gateway.
 */
import './typescript-api.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { openBranch } from '../support/branch.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openReceiver } from '../support/receiver.ts'
import { readDocument } from './document.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'countersign-client-'))
const house = await openHouse({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
const receiver = await keepOpen(openReceiver())
const program = await openBranch(house)
const document = await readDocument(house.baseUrl)
symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** As a partner would write it. Every `@ts-expect-error` is a mistake that the compiler must find. */
const source = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

const { BASE_URL, AUTHORIZATION, HOOK_URL } = process.env as Record<string, string>
const api = createClient<paths>({ baseUrl: BASE_URL!, headers: { authorization: AUTHORIZATION! } })

const made = await api.POST('/v2/webhooks', { body: { url: HOOK_URL!, kinds: ['TRANSACTION'] } })
if (made.error) throw new Error(made.error.error_description)
const webhook: components['schemas']['Webhook'] = made.data

const body: components['schemas']['TransactionPayload'] = {
  transactionId: 42, clearingAccount: '1234', type: 'TRANSACTION', action: 'SUBMITTED', branchId: 1,
  email: 'test@example.com', amount: 500.25, direction: 'DEPOSIT',
}
const fired = await api.POST('/v2/webhooks/transaction', { params: { header: { Prefer: 'wait=20' } }, body })
const events = await api.GET('/v2/events', { params: { query: { after: 0, limit: 10 } } })
// The other answer of this endpoint is a stream.
const page = typeof events.data === 'object' ? events.data : undefined
const missing = await api.GET('/v2/webhooks/{id}', { params: { path: { id: 999 } } })
const revoked = await api.POST('/v1/oauth/revoke', {
  body: { token: 'x' },
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
})

export function mistakes() {
  // @ts-expect-error: an id is a number.
  api.GET('/v2/webhooks/{id}', { params: { path: { id: 'one' } } })
  // @ts-expect-error: a webhook has a URL.
  api.POST('/v2/webhooks', { body: { kinds: ['TRANSACTION'] } })
  // @ts-expect-error: there is no such kind.
  api.POST('/v2/webhooks', { body: { url: 'https://app.example.com', kinds: ['WEATHER'] } })
  // @ts-expect-error: that is not for partners.
  api.POST('/internal/v1/events', { body: { events: [] } })
}

console.log(JSON.stringify({
  id: webhook.id,
  state: fired.data?.deliveries[0]?.state,
  attempt: fired.data?.deliveries[0]?.attempt?.status,
  sequence: page?.events[0]?.sequence,
  missing: missing.error?.error,
  revoked: revoked.response.status,
}))
`

const settings = {
  compilerOptions: {
    ...{
      target: 'es2024',
      module: 'nodenext',
      strict: true,
      noUncheckedIndexedAccess: true,
      types: ['node'],
    },
    ...{
      exactOptionalPropertyTypes: true,
      rewriteRelativeImportExtensions: true,
      skipLibCheck: false,
      outDir: 'out',
    },
  },
  files: ['api.ts', 'client.ts'],
}

test('a client generated from the document compiles under strict settings, and its calls work', async () => {
  const { default: generate, astToString } = await import('openapi-typescript')
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  writeFileSync(join(folder, 'api.ts'), astToString(await generate(document as never)))
  writeFileSync(join(folder, 'client.ts'), source)
  await run(resolve('node_modules/.bin/tsc'), ['--project', folder]).catch(({ stdout }) =>
    assert.fail(stdout),
  )
  const env = {
    PATH: process.env.PATH,
    BASE_URL: house.baseUrl,
    AUTHORIZATION: program.credentials.authorization,
    HOOK_URL: receiver.url('/generated'),
  }
  const { stdout } = await run(process.execPath, [join(folder, 'out/client.js')], { env })
  const { id, ...told } = JSON.parse(stdout) as Record<string, unknown>
  assert.equal(typeof id, 'number')
  assert.deepEqual(told, {
    state: 'delivered',
    attempt: 200,
    sequence: 1,
    missing: 'not_found',
    revoked: 200,
  })
  assert.equal(JSON.parse(receiver.at('/generated')[0]!.body).amount, 500.25)
})

/**
 * A client that an operator registers by the command line goes the whole way through the pages, with the
 * person of the demo: fields for name and password, and one button. A suite that judges from outside can drive
 * it.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Browser } from '../support/browser.ts'
import { makeKey, printJwks } from '../support/client-keys.ts'
import { exchange, type Fapi2Client, getProfile, makePkce, push } from '../support/fapi.ts'
import { endGateway, makeFolder, readDemo, runCommand, startGateway } from '../support/process.ts'
import { approveForm } from '../support/web.ts'

const callback = 'https://suite.example/test/a/countersign/callback'

test('countersign client create --profile fapi2 --jwks FILE, then the pages alone', async (t) => {
  const folder = makeFolder()
  const settings = { DATA_DIR: folder, TMPDIR: makeFolder() }
  const gateway = await startGateway(settings)
  t.after(() => endGateway(gateway))
  const demo = await readDemo(gateway, folder)
  const key = makeKey('ES256', { kid: 'suite-1' })
  const jwks = join(folder, 'suite.jwks')
  writeFileSync(jwks, printJwks(key))
  const words = ['client', 'create', '--name', 'Suite', '--callback', callback, '--scope', 'read']
  const given = ['--profile', 'fapi2', '--jwks', jwks, '--partner', String(demo.branchId), '--json']
  const created = await runCommand([...words, ...given], settings)
  assert.equal(created.code, 0, created.stderr)
  const { id, client_secret } = created.json<{ id: string; client_secret?: string }>()
  assert.equal(client_secret ?? null, null, 'it has no secret')

  const clock = { now: () => new Date() }
  const of = { client: { id, environment: 'live' }, house: { baseUrl: demo.baseUrl, clock }, key }
  const by = of as unknown as Fapi2Client
  const dpopKey = makeKey()
  const pkce = makePkce()
  const pushed = await push(by, pkce, { fields: { redirect_uri: callback } })
  assert.equal(pushed.status, 201, pushed.text)
  const { request_uri } = pushed.json<{ request_uri: string }>()

  const browser = new Browser(demo.baseUrl)
  const query = new URLSearchParams({ client_id: id, request_uri })
  const start = await browser.get(`/v1/oauth/authorize?${query}`)
  const login = await browser.get(start.location!)
  assert.equal(login.status, 200, login.text)
  const signedIn = await browser.submit(login, '/login', { username: demo.username, password: demo.password })
  assert.equal(signedIn.status, 303, signedIn.text)
  const consent = await browser.get(signedIn.location!)
  const answer = await browser.post('/consent', approveForm(consent))
  assert.ok(answer.location?.startsWith(`${callback}?`), answer.text)
  const code = new URL(answer.location!).searchParams.get('code')!
  const tokens = await exchange(by, dpopKey, code, pkce, { fields: { redirect_uri: callback } })
  assert.equal(tokens.status, 200, tokens.text)
  const { access_token } = tokens.json<{ access_token: string }>()
  assert.equal((await getProfile(by, dpopKey, access_token)).status, 200)
})

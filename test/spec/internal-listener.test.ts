/**
 * The internal listener: what only the brokerage's own programs call is answered on an address of its own, for
 * both environments, and by no site.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { day } from '../../src/clock.ts'
import { createService } from '../../src/services/service.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { openAdminProgram } from '../support/administration.ts'
import { ask } from '../support/ask.ts'
import { type SentRequest, send } from '../support/browser.ts'
import { makeCertificate } from '../support/certificate.ts'
import { basic, isInternal, openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLogLines } from '../support/log-lines.ts'
import { makeFolder } from '../support/process.ts'
import { openCore } from '../support/provisioning.ts'

const house = await openHouse()
const { db } = house.gateway.context
const rows = apiRoutes.filter(({ environmentOf }) => environmentOf !== undefined)

const methodOf = ({ method }: (typeof rows)[number]) => method as NonNullable<SentRequest['method']>
const fill = (path: string) => path.replaceAll(/:\w+/g, '1')

test('what has an address under /internal or /admin is of the internal listener, and nothing else is', () => {
  assert.ok(rows.length >= 18)
  assert.deepEqual(
    rows,
    apiRoutes.filter(({ path }) => isInternal(path)),
  )
  assert.deepEqual(
    pageRoutes.filter(({ path }) => isInternal(path)),
    [],
  )
})

test('no site has any of it, whoever asks: each address is the usual 404', async () => {
  const core = await openCore(house)
  const program = await openAdminProgram(house)
  for (const url of [house.baseUrl, house.sandboxUrl])
    for (const row of rows)
      for (const headers of [{}, core.headers, program.headers]) {
        const answer = await send(url + fill(row.path), { method: methodOf(row), headers })
        assert.equal(answer.status, 404, `${row.method} ${url}${row.path}`)
        assert.equal(answer.json<{ error: string }>().error, 'not_found')
      }
})

test('the internal listener has nothing of the sites, and speaks to programs alone', async () => {
  const others = [...apiRoutes.filter((row) => !rows.includes(row)), ...pageRoutes]
  for (const { method, path } of others) {
    const answer = await send(house.internalUrl + fill(path), {
      method: method as 'GET',
      headers: { accept: 'text/html' },
    })
    assert.equal(answer.status, 404, `${method} ${path}`)
    assert.match(String(answer.headers['content-type']), /^application\/json/)
  }
})

test('the credential says the environment, and reaches nothing of the other', async () => {
  for (const environment of ['live', 'sandbox'] as const) {
    const core = await openCore(house, environment, [environment === 'live' ? 'core' : 'sandbox'])
    const answer = await core.put(`accounts/${environment}-1`, {
      number: `${environment}1`.toUpperCase(),
      type: 'cash',
      version: 1,
    })
    assert.equal(answer.status, 200, answer.text)
    const program = await openAdminProgram(house, { environment })
    assert.equal((await program.call('GET', '/admin/v1/partners')).status, 200)
    for (const path of ['/internal/openapi.json', '/admin/openapi.json']) {
      const headers = path.startsWith('/admin') ? program.headers : core.headers
      const document = await send(house.internalUrl + path, { headers })
      assert.ok(document.text.includes(environment === 'live' ? house.baseUrl : house.sandboxUrl), path)
    }
  }
  const opened = `SELECT environment FROM accounts WHERE account_number IN ('LIVE1', 'SANDBOX1') ORDER BY 1`
  assert.deepEqual(await ask(db, opened), [{ environment: 'live' }, { environment: 'sandbox' }])
  const sandbox = await openCore(house, 'sandbox')
  const foreign = await sandbox.put('accounts/live-1?source=core', {
    number: 'LIVE1',
    type: 'cash',
    version: 2,
  })
  assert.equal(foreign.status, 403)
})

test('the secret of one service does not open the other environment by another name', async () => {
  const [live, sandbox] = await Promise.all(
    (['live', 'sandbox'] as const).map((each) => createService(db, 'ledger', each, house.act())),
  )
  for (const [one, other] of [
    [live!, sandbox!],
    [sandbox!, live!],
  ] as const) {
    const headers = basic({ id: one.service.id, secret: other.secret.text })
    assert.equal((await send(`${house.internalUrl}/internal/openapi.json`, { headers })).status, 401)
  }
})

test('it listens on loopback alone unless it is told otherwise', async () => {
  assert.equal(new URL(house.internalUrl).hostname, '127.0.0.1')
  const own = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  if (own)
    await assert.rejects(send(house.internalUrl.replace('127.0.0.1', own.address)), { code: 'ECONNREFUSED' })
})

test('a port that is taken is told by the name of its setting', async () => {
  const { port } = new URL(house.internalUrl)
  await assert.rejects(
    openTestGateway({ INTERNAL_PORT: port }),
    new Error(`Port ${port} is taken by another program. Set INTERNAL_PORT to a free one.`),
  )
})

const [from, to] = [new Date(Date.now() - day), new Date(Date.now() + day)]
const names = ['server', 'caller', 'stranger'] as const
const certificates = Object.fromEntries(
  names.map((name) => [name, makeCertificate(name === 'server' ? ['localhost'] : [name], from, to)]),
)

function writeFiles(): NodeJS.ProcessEnv {
  const folder = makeFolder()
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  return {
    INTERNAL_TLS_CERT_FILE: write('server.crt', certificates.server!.cert),
    INTERNAL_TLS_KEY_FILE: write('server.key', certificates.server!.key),
    INTERNAL_TLS_CLIENT_CA_FILE: write('callers.crt', certificates.caller!.cert),
  }
}

function askSecurely(url: string, own: object): Promise<number> {
  const trust = { ca: certificates.server!.cert, servername: 'localhost', agent: false as const }
  return new Promise((resolve, reject) => {
    const asked = request(url, { ...trust, ...own }, (answer) => {
      answer.resume()
      resolve(answer.statusCode!)
    })
    asked.on('error', reject).end()
  })
}

test('it speaks TLS by a certificate of its own, and where an authority for callers is set, to nobody without theirs', async () => {
  const files = writeFiles()
  const both = await keepOpen(openTestGateway(files))
  const url = `${both.internalUrl}/internal/v1/customers`
  assert.match(url, /^https:/)
  assert.match(both.baseUrl, /^http:/)
  assert.equal(await askSecurely(url, certificates.caller!), 401, 'and a credential is asked for beside it')
  for (const other of [{}, certificates.stranger!]) await assert.rejects(askSecurely(url, other))
  await assert.rejects(send(url.replace('https:', 'http:')))
  const { INTERNAL_TLS_CLIENT_CA_FILE: _, ...server } = files
  const open = await keepOpen(openTestGateway(server))
  assert.equal(await askSecurely(`${open.internalUrl}/internal/v1/customers`, {}), 401)
})

test('what a proxy says of a caller changes nothing here', async () => {
  const lines = openLogLines('info')
  const trusting = await keepOpen(openTestGateway({ TRUST_PROXY: '127.0.0.1' }, lines.log))
  const headers = { 'x-forwarded-for': '203.0.113.9', 'x-request-id': 'told-by-a-proxy' }
  await send(`${trusting.internalUrl}/internal/v1/customers`, { headers })
  const line = await lines.find(({ request_id }) => request_id === 'told-by-a-proxy')
  assert.deepEqual([line.address, line.environment], ['127.0.0.1', 'internal'])
})

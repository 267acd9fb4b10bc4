/** Who is let in to which row of /admin, held to what docs/administration.md and the table of powers say. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { listedPowers } from '../../src/audit/powers.ts'
import { day } from '../../src/clock.ts'
import { revokeCredential } from '../../src/users/admin-credential.ts'
import { permissions, permits, staffRoles } from '../../src/vocabulary/permission.ts'
import { type AdminMethod, type AdminProgram, openAdminProgram } from '../support/administration.ts'
import { send } from '../support/browser.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'

const house = await openHouse()
const rows = apiRoutes.filter(({ path }) => path.startsWith('/admin/'))
const page = readFileSync(new URL('../../docs/administration.md', import.meta.url), 'utf8')
const tableRows = page.split('\n').filter((line) => line.startsWith('| `'))
const codesIn = (cell: string | undefined) =>
  [...(cell ?? '').matchAll(/`([^`]+)`/g)].map((found) => found[1]!)
const isPermission = (word: string | undefined) => permissions.some((each) => each === word)

/** Of each kind what it takes to look at it, and to change it. */
const ofKinds = new Map(
  tableRows.flatMap((line) => {
    const [, kind, takes] = line.split('|')
    const [sees, changes = sees] = codesIn(takes)
    return isPermission(sees) && !kind!.includes('/') ? [[codesIn(kind)[0]!, { sees, changes }] as const] : []
  }),
)

/** Of each request that is written down with a permission of its own. */
const ofRequests = new Map(
  tableRows.flatMap((line) => {
    const [, asked, takes] = line.split('|')
    const [permission] = codesIn(takes)
    if (!isPermission(permission)) return []
    let method = ''
    return codesIn(asked).flatMap((code) => {
      const [, verb, path] = /^(?:([A-Z]+) )?(?:\/admin\/v1|…)(\/[^?]*)/.exec(code) ?? []
      method = verb ?? method
      return path === undefined ? [] : [[shapeOf(method, `/admin/v1${path}`), permission] as const]
    })
  }),
)

function shapeOf(method: string, path: string): string {
  return `${method} ${path.replaceAll(/:\w+|\{\w+\}/g, '*')}`
}

function documentedFor(method: string, path: string): string | undefined {
  const kind = ofKinds.get(path.split('/')[3] ?? '')
  return ofRequests.get(shapeOf(method, path)) ?? (method === 'GET' ? kind?.sees : kind?.changes)
}

test('each row takes the permission that the contract says, and what gives power the one of the table of powers', () => {
  assert.ok(ofKinds.size >= 7 && ofRequests.size >= 15)
  for (const { method, path, permission } of rows) {
    if (path === '/admin/openapi.json') assert.equal(permission, 'overview.see')
    else assert.equal(permission, documentedFor(String(method), path), `${method} ${path}`)
    for (const [action, power] of listedPowers)
      if (power.endpoints?.some((each) => each === `${method} ${path}`) && power.permission)
        assert.equal(permission, power.permission, `${action} by ${path}`)
  }
  for (const shape of ofRequests.keys())
    assert.ok(
      rows.some(({ method, path }) => shapeOf(String(method), path) === shape),
      `${shape} is a row`,
    )
})

async function callAll(program: AdminProgram): Promise<Map<string, number>> {
  const statuses = new Map<string, number>()
  for (const { method, path } of rows) {
    const body = method === 'GET' || method === 'DELETE' ? undefined : {}
    const answer = await program.call(method as AdminMethod, path.replaceAll(/:\w+/g, '0'), body)
    assert.ok(answer.status < 500, answer.text)
    statuses.set(`${method} ${path}`, answer.status)
  }
  return statuses
}

for (const role of staffRoles)
  test(`a credential with the role ${role} comes in where the role may, and nowhere else`, async () => {
    const statuses = await callAll(await openAdminProgram(house, { role }))
    for (const { method, path, permission } of rows)
      assert.equal(
        statuses.get(`${method} ${path}`) === 403,
        !permits([role], permission!),
        `${method} ${path}`,
      )
  })

test('no row lets in a credential that was revoked or has had its last day, and none is there on the public sites', async () => {
  const own = await keepOpen(openTestGateway())
  const revoked = await openAdminProgram(own)
  await revokeCredential(own.gateway.context.db, revoked.credentialId, own.act())
  const ended = await openAdminProgram(own, { days: 1 })
  own.clock.advance(day)
  for (const program of [revoked, ended])
    for (const [row, status] of await callAll(program)) assert.equal(status, 401, row)
  const { headers } = await openAdminProgram(own)
  for (const site of [own.baseUrl, own.sandboxUrl])
    for (const { method, path } of rows) {
      const address = site + path.replaceAll(/:\w+/g, '0')
      assert.equal((await send(address, { method: method as AdminMethod, headers })).status, 404, address)
    }
})

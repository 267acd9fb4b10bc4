/** Spec 4.11: what a proxy hears at each door. */
import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { test } from 'node:test'
import { doorNames, identityIn, openProxy } from '../support/forward-auth.ts'
import { openHouse } from '../support/gateway.ts'
import { openLogLines } from '../support/log-lines.ts'
import { openHolder } from '../support/oauth.ts'

const log = openLogLines()
const house = await openHouse({}, log.log)
const client = await house.makeClient()
const holder = await openHolder(house)
const everything = ['username', 'client', 'partner', 'grant', 'accounts', 'customer', 'sign-in']
const proxy = await openProxy(house, { sees: everything })
const token = (await holder.tokens(client, { scope: 'read trade' })).access_token

const names = [
  ...['subject', 'username', 'customer', 'client', 'partner', 'scope', 'accounts', 'grant'],
  ...['auth-time', 'acr', 'cnf', 'expires', 'assertion'],
].sort()

for (const door of doorNames) {
  test(`${door}: a token that is enough passes, and every header of who it is of is there`, async () => {
    const answer = await proxy.ask(door, { token, needs: 'scope=trade%20read' })
    assert.equal(answer.status, 200, answer.body)
    assert.equal(answer.body, '')
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const identity = identityIn(answer)
    assert.deepEqual(Object.keys(identity).sort(), names)
    assert.equal(identity.subject, holder.user.id)
    assert.equal(identity.username, holder.user.username)
    assert.equal(identity.client, client.id)
    assert.equal(identity.partner, String(client.branchId))
    assert.equal(identity.scope, 'read trade')
    assert.match(identity.accounts!, /^[A-Z]+$/)
    assert.match(identity.grant!, /^\d+$/)
    assert.match(identity['auth-time']!, /^\d{10}$/)
    assert.equal(identity.acr, 'urn:countersign:acr:password')
    assert.match(identity.expires!, /^\d{10}$/)
    assert.deepEqual([identity.customer, identity.cnf, identity.assertion], ['', '', ''])
  })

  test(`${door}: what the service may not know, and what is not there, is empty`, async () => {
    const blind = await openProxy(house, { sees: [] })
    const identity = identityIn(await blind.ask(door, { token }))
    assert.deepEqual(Object.keys(identity).sort(), names)
    const told = Object.keys(identity).filter((name) => identity[name] !== '')
    assert.deepEqual(told.sort(), ['expires', 'scope', 'subject'])
    const personal = await house.makeToken(holder.user)
    const own = identityIn(await proxy.ask(door, { token: personal }))
    assert.deepEqual([own.subject, own.client, own.grant, own.expires], [holder.user.id, '', '', ''])
  })

  test(`${door}: a token that is not enough is refused with a challenge that says what is`, async () => {
    const challenge = async (passage: { needs?: string; token?: string }) => {
      const { status, headers, body } = await proxy.ask(door, passage)
      const { error, error_description, request_id } = JSON.parse(body)
      assert.ok(error_description.length > 10)
      const line = await log.find((each) => each.request_id === request_id && each.msg === 'request')
      assert.deepEqual([line.refusal, line.service], [error, proxy.id])
      assert.equal(headers.get('cache-control'), 'no-store')
      for (const name of headers.keys()) assert.ok(!name.startsWith('x-countersign-'), name)
      return [status, error, headers.get('www-authenticate')!.replace(/ error_description="[^"]+",/, '')]
    }
    assert.deepEqual(await challenge({ needs: 'scope=read' }), [
      ...[401, 'unauthorized', 'Bearer realm="countersign", scope="read"'],
    ])
    assert.deepEqual(await challenge({ token: 'x' }), [
      ...[401, 'invalid_token', 'Bearer realm="countersign", error="invalid_token", scope="read"'],
    ])
    assert.deepEqual(await challenge({ token, needs: 'scope=write' }), [
      ...[403, 'insufficient_scope'],
      'Bearer realm="countersign", error="insufficient_scope", scope="read write trade"',
    ])
    assert.deepEqual(await challenge({ token, needs: 'scope=read&account=NOBODYS' }), [
      ...[403, 'account_not_shared'],
      'Bearer realm="countersign", error="insufficient_scope", scope="read trade"',
    ])
    const acr = 'urn:countersign:acr:second-factor'
    assert.deepEqual(await challenge({ token, needs: `scope=read&max_age=0&acr_values=${acr}` }), [
      ...[401, 'insufficient_user_authentication'],
      `Bearer realm="countersign", error="insufficient_user_authentication", scope="read", max_age="0", acr_values="${acr}"`,
    ])
  })

  test(`${door}: whatever the method of the request, the same is asked and no body is read`, async () => {
    for (const method of METHODS.filter((each) => each !== 'CONNECT')) {
      const yes = await proxy.ask(door, { token, method, more: ['content-type: application/json'] })
      assert.equal(yes.status, 200, `${method} ${yes.body}`)
      const no = await proxy.ask(door, { token, method, needs: 'scope=market' })
      assert.equal(no.status, 403, method)
    }
  })
}

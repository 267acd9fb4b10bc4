/** What the doors of forward-auth sign, as the API behind the proxy reads it with @countersign/resource. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAssertions } from '../../resource/src/assertions.ts'
import { assertionHeader, Refusal } from '../../resource/src/index.ts'
import { doorNames, openProxy } from '../support/forward-auth.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { MovedClock } from '../support/resource.ts'

const house = await openHouse()
const client = await house.makeClient()
const user = await house.makeUser('ada', ['ACCOUNT1'])
const code = (await house.approve(client, await house.signIn(user), { scope: 'read trade' })).get('code')!
const { access_token: token } = (await house.exchange(client, code)).json<{ access_token: string }>()
const proxy = await openProxy(house, {
  sees: ['accounts', 'sign-in', 'client', 'username', 'grant', 'partner'],
})
const clock = new MovedClock(house)
const open = (serviceId: string) => keepOpen(openAssertions({ issuer: house.baseUrl, serviceId, clock }))
const behind = await open(proxy.id)
const passage = { method: 'POST', host: 'Orders.example.com:8443', target: '/orders/%2e%2e/a?dry=1&x=a+b' }

for (const door of doorNames)
  test(`the assertion of the door for ${door} lets its request in, and no other`, async () => {
    const judged = await proxy.ask(door, { ...passage, token, needs: 'scope=trade&assertion=1' })
    assert.equal(judged.status, 200, judged.body)
    const headers = { [assertionHeader]: judged.headers.get(assertionHeader) }
    const demand = behind.demand({ scope: 'trade read', maxAgeSeconds: 300 })
    const access = await behind.judge({ ...passage, headers }, demand, 'ACCOUNT1')
    assert.ok(!(access instanceof Refusal), JSON.stringify(access))
    assert.equal(access.subject, user.id)
    assert.equal(access.client, client.id)
    assert.equal(access.username, 'ada')
    assert.equal(access.partner, client.branchId)
    assert.deepEqual(access.accounts, ['ACCOUNT1'])
    assert.deepEqual(access.audience, [])
    const status = async (other: Partial<typeof passage>, verifier = behind) => {
      const judgement = await verifier.judge({ ...passage, ...other, headers }, demand, undefined)
      return judgement instanceof Refusal ? judgement.status : 200
    }
    for (const other of [{ method: 'GET' }, { host: 'orders.example.com' }, { target: '/a?dry=1&x=a+b' }])
      assert.equal(await status(other), 401, JSON.stringify(other))
    assert.equal(await status({}, await open('another')), 401)
  })

/** The way in that is left to operators when their provider is away, and who hears of its use. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hour } from '../../src/clock.ts'
import { setEmail } from '../../src/users/email.ts'
import { Browser } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'
import { noticesOf } from '../support/notices.ts'
import { registerUpstream } from '../support/upstream.ts'
import { signInWith } from '../support/web.ts'

const house = await openHouse({ ROLES: 'api' })
const { db } = house.gateway.context
const operator = await house.makeOperator('Olga Operator')
const colleague = await house.makeOperator('Karl Colleague')
const holder = await house.makeUser()
for (const user of [operator, colleague, holder])
  await setEmail(db, user, `${user.username}@example.com`, house.act())

const told = async () =>
  (await noticesOf(db, colleague))
    .filter(({ kind }) => kind === 'staff-password')
    .map(({ facts }) => facts.name)

const open = () => new Browser(house.baseUrl)

test('without a provider for staff, a password is how they sign in, and nobody is told', async () => {
  assert.equal((await signInWith(open(), operator.username)).status, 303)
  assert.deepEqual(await told(), [])
})

test('with one, whoever manages staff hears of a sign-in with a password, once an hour; of a holder’s they do not', async () => {
  const issuer = 'https://127.0.0.1:9'
  await registerUpstream(house, { issuer }, 'staff', { kind: 'staff', label: 'Staff ID', linkClaim: null })
  assert.equal((await signInWith(open(), holder.username)).status, 303)
  assert.deepEqual(await told(), [])
  for (let time = 0; time < 2; time++)
    assert.equal((await signInWith(open(), operator.username, { path: '/login/password' })).status, 303)
  assert.deepEqual(await told(), ['Olga Operator'])
  house.clock.advance(hour)
  assert.equal((await signInWith(open(), operator.username, { path: '/login/password' })).status, 303)
  assert.deepEqual(await told(), ['Olga Operator', 'Olga Operator'])
})

test('the console leads staff to their provider; when it is away, the page says so and the password page stays', async () => {
  const away = await open().get('/login?return=%2Fconsole')
  assert.equal(away.status, 503)
  assert.match(away.text, /Staff ID is not available/)
  assert.equal((await open().get('/login/password?return=%2Fconsole')).status, 200)
})

test('holders are not shown the provider of staff, but the way to it', async () => {
  const page = await open().get('/login')
  assert.doesNotMatch(page.text, /Staff ID/)
  assert.match(page.text, /Staff sign-in/)
})

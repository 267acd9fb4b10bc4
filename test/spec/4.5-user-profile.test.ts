/** Spec 4.5: the profile of the user behind a token, with the accounts that the token may see. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addAccount } from '../../src/users/account.ts'
import { type Answer, send } from '../support/browser.ts'
import { openHouse, type TokenBody } from '../support/gateway.ts'
import { assertProblem, hears } from '../support/oauth.ts'

interface Account {
  readonly account_number: string
}
interface Profile {
  readonly profile: {
    readonly id: string
    readonly name: string
    readonly account: Account | Account[]
    readonly accounts: Account[]
  }
}

const house = await openHouse()
const client = await house.makeClient()

function read(answer: Answer): Profile['profile'] {
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Profile>().profile
}

test('the profile holds the id, the name, and the account in every field that clients read', async () => {
  const user = await house.makeUser(undefined, ['6YA12345'])
  const answer = await house.profile(await house.makeToken(user))
  const opened = house.clock.now().toISOString()
  const account = {
    account_number: '6YA12345',
    classification: 'individual',
    date_created: opened,
    day_trader: false,
    option_level: 2,
    status: 'active',
    type: 'margin',
    last_update_date: opened,
  }
  assert.match(user.id, /^id-/)
  assert.deepEqual(answer.json(), {
    profile: { id: user.id, name: 'Ada Holder', account, accounts: [account] },
  })
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  assert.equal(answer.headers['cache-control'], 'no-store')
})

test('account is the account itself for one, and a list for none or several; accounts is always a list', async () => {
  for (const numbers of [[], ['AAAA0001'], ['BBBB0001', 'BBBB0002', 'BBBB0003']]) {
    const user = await house.makeUser(undefined, numbers)
    const { account, accounts } = read(await house.profile(await house.makeToken(user)))
    assert.deepEqual(
      accounts.map((each) => each.account_number),
      numbers,
    )
    assert.deepEqual(account, numbers.length === 1 ? accounts[0] : accounts)
  }
})

test('an access token sees the accounts that the user chose, a personal token all of them', async () => {
  const user = await house.makeUser(undefined, ['CCCC0001', 'CCCC0002'])
  const browser = await house.signIn(user)
  const start = await browser.get(`/v1/oauth/authorize?client_id=${client.id}&scope=read&state=st`)
  const page = await browser.get((await browser.get(start.location!)).location!)
  const answer = await browser.submit(page, '/consent', { decision: 'approve', account: 'CCCC0002' })
  const code = new URL(answer.location!).searchParams.get('code')!
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  const chosen = read(await house.profile(access_token))
  assert.deepEqual(chosen.account, chosen.accounts[0])
  assert.deepEqual(
    chosen.accounts.map((each) => each.account_number),
    ['CCCC0002'],
  )
  assert.equal(read(await house.profile(await house.makeToken(user))).accounts.length, 2)
})

test('an account that is opened later does not appear to applications that were not given it', async () => {
  const user = await house.makeUser(undefined, ['DDDD0001'])
  const code = (await house.approve(client, await house.signIn(user))).get('code')!
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  const personal = await house.makeToken(user)
  assert.equal(read(await house.profile(personal)).accounts.length, 1)
  const heard = hears(house.gateway, `user:${user.id}`)
  const account = { classification: 'roth_ira', dayTrader: false, optionLevel: 1, type: 'cash' } as const
  const opened = { ...account, accountNumber: 'DDDD0002', environment: 'live' } as const
  await addAccount(house.gateway.context.db, user, opened, house.act())
  await heard
  assert.equal(read(await house.profile(access_token)).accounts.length, 1)
  assert.equal(read(await house.profile(personal)).accounts.length, 2)
})

test('the sandbox shows sandbox accounts, live shows live ones', async () => {
  const user = await house.makeUser(undefined, ['EEEE0001'])
  for (const [environment, number] of [
    ['live', 'EEEE0001'],
    ['sandbox', 'VAEEEE0001'],
  ] as const) {
    const { accounts } = read(await house.profile(await house.makeToken(user, environment), environment))
    assert.deepEqual(
      accounts.map((each) => each.account_number),
      [number],
    )
  }
})

// B4
test('the profile needs the scope read: every other scope together is not enough', async () => {
  const code = await house.makeCode(client, { scope: 'write market trade stream' })
  const { access_token } = (await house.exchange(client, code)).json<TokenBody>()
  assertProblem(await house.profile(access_token), 403, 'insufficient_scope')
})

test('a token tells only of its own user, whatever the address says', async () => {
  const [one, other] = [await house.makeUser(), await house.makeUser()]
  const token = await house.makeToken(one)
  const url = `${house.baseUrl}/v1/user/profile?id=${other.id}&user_id=${other.id}&__proto__=${other.id}`
  assert.equal(read(await send(url, { headers: { authorization: `Bearer ${token}` } })).id, one.id)
})

test('the profile is JSON whatever Accept says', async () => {
  const token = await house.makeToken(await house.makeUser())
  for (const accept of ['text/html', 'application/xml', '*/*;q=0', 'nonsense', '']) {
    const headers = { authorization: `Bearer ${token}`, accept }
    const answer = await send(`${house.baseUrl}/v1/user/profile`, { headers })
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    read(answer)
  }
})

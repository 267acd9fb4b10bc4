/**
 * What @countersign/resource remembers is refused with the announcement of what took it away, over two nodes:
 * one tells, another answers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { staleAtMostMs } from '../../resource/src/hearing.ts'
import { openGateway } from '../../src/gateway/gateway.ts'
import { setClientStatus } from '../../src/partners/client.ts'
import { getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { readConfig } from '../../src/settings/config.ts'
import { getUserById, setUserStatus } from '../../src/users/user.ts'
import { postForm } from '../support/browser.ts'
import { openWire } from '../support/cut-wire.ts'
import { basic, nodeOptions, openHouse, type TestClient, type TokenBody } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openHolder, openSecondNode } from '../support/oauth.ts'
import { makeService, openApi, type TestApi } from '../support/resource.ts'

const house = await openHouse()
const other = await keepOpen(openSecondNode(house))
const { db } = house.gateway.context
const client = await house.makeClient()
const holder = await openHolder(house)
/** It asks one node, and hears the other. */
const api = await keepOpen(openApi(house, { internalUrl: other.internalUrl }))

const revoke = (token: string, by: TestClient = client) =>
  postForm(`${house.baseUrl}/v1/oauth/revoke`, { token }, basic(by))

/** Resolves when it has heard of a change that takes away what was let in. */
async function heardOf(change: () => Promise<unknown>, by: TestApi = api): Promise<void> {
  await change()
  await by.hearsAll()
}

test('a token that is known costs no call', async () => {
  const { access_token } = await holder.tokens(client)
  await api.remembers(access_token)
})

type End = (
  tied: { client: TestClient; token: string; browser: Awaited<ReturnType<typeof house.signIn>> },
  userId: string,
) => Promise<unknown>
const ends: Readonly<Record<string, End>> = {
  'it is revoked': ({ client: tied, token }) => revoke(token, tied),
  'its scope is narrowed': ({ client: tied, browser }) => house.approve(tied, browser, { scope: 'market' }),
  'its application is paused': async ({ browser }) =>
    browser.submit(await browser.get('/account'), '/account/pause', {}),
  'its application is disconnected': async ({ browser }) =>
    browser.submit(await browser.get('/account'), '/account/revoke', {}),
  'its application is suspended': ({ client: tied }) => setClientStatus(db, tied, 'suspended', house.act()),
  'its partner is suspended': async ({ client: { branchId } }) =>
    setPartnerStatus(db, await getPartner(db, String(branchId)), 'suspended', 'x', house.act()),
  'its user is locked': async (_tied, userId) =>
    setUserStatus(db, await getUserById(db, userId), 'disabled', house.act()),
}

for (const [what, end] of Object.entries(ends))
  test(`a remembered token is refused with the announcement when ${what}`, async () => {
    const tied = await house.makeClient()
    const user = await house.makeUser()
    const browser = await house.signIn(user)
    const code = (await house.approve(tied, browser)).get('code')!
    const { access_token: token } = (await house.exchange(tied, code)).json<TokenBody>()
    await api.remembers(token)
    await heardOf(() => end({ client: tied, token, browser }, user.id))
    assert.notEqual(await api.status(token), 200)
  })

/** A node that hears of changes later than the others, and an API that asks it and hears another. */
async function openLate() {
  const wire = await openWire(house.databaseUrl)
  const settings = readConfig({ ...house.settings, DATABASE_URL: wire.url })
  const late = await openGateway(settings, { clock: house.clock, ...nodeOptions })
  const credential = await makeService(house)
  const apis: TestApi[] = []
  return {
    fallBehind: () => wire.lengthen(300),
    async openApi() {
      const asking = await openApi(house, { issuer: late.baseUrl, credential, timeoutMs: 60_000 })
      apis.push(asking)
      return asking
    },
    async close() {
      wire.lengthen(0)
      for (const each of apis) each.close()
      await late.close()
      await wire.close()
    },
  }
}

test('what a node answers that has not heard of a change yet is neither used nor remembered', async () => {
  const late = await openLate()
  try {
    const asking = await late.openApi()
    const { access_token } = await holder.tokens(client)
    assert.equal(await asking.status(access_token), 200)
    late.fallBehind()
    // Past the time in which it asks everything anew.
    asking.clock.advance(staleAtMostMs)
    await heardOf(() => revoke(access_token), asking)
    assert.equal(await asking.status(access_token), 401)
  } finally {
    await late.close()
  }
})

test('whoever begins to listen asks anew at first: what was told before is not known everywhere', async () => {
  const late = await openLate()
  try {
    const { access_token } = await holder.tokens(client)
    assert.equal(await (await late.openApi()).status(access_token), 200)
    late.fallBehind()
    await revoke(access_token)
    const asking = await late.openApi()
    assert.equal(await asking.status(access_token), 401)
  } finally {
    await late.close()
  }
})

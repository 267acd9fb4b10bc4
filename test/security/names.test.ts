/** Names are printed to others: none may hold what moves a terminal, turns words around or cannot be seen. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, updateClient } from '../../src/partners/client.ts'
import { applyAsPartner, applyWithDetails, setPartnerStatus } from '../../src/partners/partner.ts'
import { askForRefresh } from '../../src/partners/refresh-request.ts'
import { createService } from '../../src/services/service.ts'
import { addAccount } from '../../src/users/account.ts'
import { createApiToken } from '../../src/users/api-token.ts'
import { openPasswords } from '../../src/users/password.ts'
import { createUser } from '../../src/users/user.ts'
import type { Delivery } from '../../src/webhooks/deliveries/delivery.ts'
import { skipDelivery, startSkip } from '../../src/webhooks/deliveries/skip.ts'
import { createWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { openHouse, password } from '../support/gateway.ts'

const house = await openHouse()
const db = house.gateway.context.db

/** An escape, C1, bidi, zero width, a half character, private use, a line separator. */
const bad = ['a\x1b[2J', 'a\x9b1m', 'a\u202Etxt', 'a\u200Bb', 'a\uD83D', 'a\uE000', 'a\u2028b', 'a\0b']

test('every name and every reason refuses control and format characters, and says which field', async () => {
  const partner = await house.makePartner()
  const user = await house.makeUser()
  const client = await house.makeClient({ partner })
  const { vault } = house.gateway.context
  const act = house.act()
  const branch = { branchId: partner.branchId, environment: 'live' } as const
  const hook = { url: 'https://a.example/hooks', secret: 'long enough', kinds: undefined }
  const deps = { db, vault, policy: house.gateway.context.guard }
  const webhook = await createWebhook(deps, branch, undefined, hook, act)
  const acting = { ...act, development: true }
  const draft = { callbackUrl: 'https://a.example/cb', scope: 'read', rotateRefreshTokens: false }
  const application = { name: 'New', website: 'https://a.example', contact: 'a@example.com', purpose: 'x' }
  const account = { environment: 'live', dayTrader: false, optionLevel: 1, type: 'cash' } as const
  const person = { username: 'new', password, role: 'holder' } as const
  const acts: [field: string, act: (name: string) => Promise<unknown>][] = [
    ['name', (name) => createUser(db, openPasswords(1), { ...person, name }, act)],
    ['name', (name) => applyAsPartner(db, name, act)],
    ['name', (name) => applyWithDetails(db, user, { ...application, name }, act)],
    ['purpose', (purpose) => applyWithDetails(db, user, { ...application, purpose }, act)],
    [
      'website',
      (text) => applyWithDetails(db, user, { ...application, website: `https://a.example/${text}` }, act),
    ],
    [
      'contact',
      (text) => applyWithDetails(db, user, { ...application, contact: `${text}@example.com` }, act),
    ],
    ['name', (name) => createClient(db, vault, partner, 'live', { ...draft, name }, acting)],
    ['name', (name) => updateClient(db, client, { name }, acting)],
    ['name', (name) => createService(db, name, 'live', act)],
    ['name', (name) => createApiToken(db, user, { environment: 'live', name }, act)],
    ['reason', (reason) => setPartnerStatus(db, partner, 'suspended', reason, act)],
    ['reason', (reason) => askForRefresh(db, partner, reason, act)],
    [
      'reason',
      (reason) =>
        skipDelivery(
          db,
          partner.branchId,
          {
            ...{ id: '1-1', webhookId: 1, seq: 1 },
            ...{ round: 0, day: 260101, entity: 'transaction:1' },
          } as Delivery,
          reason,
          act,
        ),
    ],
    ['reason', (reason) => startSkip(db, webhook, reason, act)],
    [
      'classification',
      (text) => addAccount(db, user, { ...account, accountNumber: 'ABCD1', classification: text }, act),
    ],
  ]
  for (const [index, [field, act]] of acts.entries()) {
    for (const name of bad)
      await assert.rejects(
        act(name),
        new RegExp(`^Error: ${field} must `),
        `act ${index}: ${JSON.stringify(name)}`,
      )
  }
})

test('letters of every script, emoji and several lines of a reason are welcome', async () => {
  const partner = await house.makePartner()
  const act = house.act()
  for (const name of ['Zoë & Søn', '東京証券', 'שלום', '🏦 Bank', "O'Neill"])
    assert.equal((await createService(db, name, 'live', act)).service.name, name)
  await setPartnerStatus(db, partner, 'suspended', 'Late.\r\n\tTwice.', act)
})

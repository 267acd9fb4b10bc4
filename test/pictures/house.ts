/**
 * A day in the life of a small brokerage, for the pictures: people, two applications, webhooks that answer
 * well and badly.
 */

import { randomInt } from 'node:crypto'
import { hour, minute } from '../../src/clock.ts'
import { createClient } from '../../src/partners/client.ts'
import {
  addMember,
  applyAsPartner,
  applyWithDetails,
  getPartner,
  type Partner,
  setPartnerStatus,
  setRefreshAccess,
} from '../../src/partners/partner.ts'
import { createUser, type User } from '../../src/users/user.ts'
import type { NewEvent } from '../../src/webhooks/events/event.ts'
import { createWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { isAtRest } from '../support/by-hand.ts'
import { eventually } from '../support/eventually.ts'
import { openTestGateway, password, type TestClient, type TestGateway } from '../support/gateway.ts'
import { answer, type Behaviour, openReceiver, type Receiver } from '../support/receiver.ts'

export interface House extends TestGateway {
  readonly people: { readonly holder: User; readonly developer: User; readonly operator: User }
  readonly partner: Partner
  readonly client: TestClient
  readonly webhookId: number
  readonly deliveryId: string
}

const burstEveryMs = 30 * minute
const bursts = (23 * hour) / burstEveryMs
/** One of the receivers has been down since then. */
const breaksAt = bursts - 5

export async function openHouse(): Promise<House> {
  const gateway = await openTestGateway()
  const receiver = await openReceiver()
  const close = async () => {
    await gateway.close()
    await receiver.close()
  }
  try {
    return { ...gateway, ...(await furnish(gateway, receiver)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function furnish(house: TestGateway, receiver: Receiver): Promise<Omit<House, keyof TestGateway>> {
  const { db } = house.gateway.context
  const holder = await house.makeUser('ada', ['6YA10001', '6YA10002'])
  const [developer, runner] = [await makePerson(house, 'dana', 'Dana Developer'), await makeOperator(house)]
  const partner = await makePartner(house, 'Pal Software')
  await addMember(db, partner, developer, house.act())
  const client = await makeClient(house, partner, 'Portfolio Pal')
  const tax = await makeClient(house, await makePartner(house, 'Tidy Labs'), 'Tax Tidy')
  await applyFor(house, 'Robo Rita')

  const browser = await house.signIn(holder)
  const code = (await house.approve(client, browser, { scope: 'read trade' })).get('code')!
  const token = (await house.exchange(client, code)).json<{ access_token: string }>().access_token
  await house.approve(tax, browser, { scope: 'read' })
  for (let call = 0; call < 7; call++) await house.profile(token)
  await house.gateway.context.activity.flush()

  const webhookId = await register(house, partner, receiver, '/transactions')
  await register(house, partner, receiver, '/statements')
  for (let burst = 0; burst < bursts; burst++) {
    if (burst === breaksAt) receiver.on('/statements', answer(503, {}, 'down for maintenance'))
    await publish(house, partner, 6 + randomInt(12))
    house.clock.advance(burstEveryMs)
  }
  const [newest] = await ask<{ seq: number }>(
    db,
    `SELECT max(seq) AS seq FROM outcomes WHERE webhook_id = $1 AND state = 'delivered'`,
    [webhookId],
  )
  const people = { holder, developer, operator: runner }
  return { people, partner, client, webhookId, deliveryId: `${webhookId}-${newest!.seq}` }
}

function makePerson(
  house: TestGateway,
  username: string,
  name: string,
  role: User['role'] = 'holder',
): Promise<User> {
  const { db, passwords } = house.gateway.context
  const staffRoles = role === 'operator' ? (['administrator'] as const) : undefined
  return createUser(
    db,
    passwords,
    { username, name, password, role, ...(staffRoles && { staffRoles }) },
    house.act(),
  )
}

const makeOperator = (house: TestGateway) => makePerson(house, 'olga', 'Olga Operator', 'operator')

async function makePartner(house: TestGateway, name: string): Promise<Partner> {
  const { db } = house.gateway.context
  const partner = await applyAsPartner(db, name, house.act())
  await setPartnerStatus(db, partner, 'approved', undefined, house.act())
  await setRefreshAccess(db, partner, true, house.act())
  return getPartner(db, String(partner.branchId))
}

async function makeClient(house: TestGateway, partner: Partner, name: string): Promise<TestClient> {
  const { db, vault } = house.gateway.context
  const draft = {
    ...{ name, callbackUrl: `https://${name.toLowerCase().replace(' ', '-')}.example/callback` },
    ...{ scope: 'read trade', rotateRefreshTokens: false },
  }
  const acting = { ...house.act(), development: true }
  const made = await createClient(db, vault, partner, 'live', draft, acting)
  return { ...made.client, secret: made.secret.text }
}

async function applyFor(house: TestGateway, name: string): Promise<void> {
  const applicant = await makePerson(house, 'rita', 'Rita Robo')
  const application = {
    ...{ name, website: 'https://robo-rita.example', contact: 'rita@robo-rita.example' },
    purpose: 'Rebalances portfolios once a month, after the account holder has agreed to each order.',
  }
  await applyWithDetails(house.gateway.context.db, applicant, application, house.act())
}

/**
 * Between 5 and 60 ms, now and then longer; the house's clock, which stands still otherwise, goes on by as
 * much.
 */
function slowly({ clock }: TestGateway): Behaviour {
  return (request, response, socket) => {
    const ms = delay()
    setTimeout(() => {
      clock.advance(ms)
      answer(200, {}, 'thank you')(request, response, socket)
    }, ms)
  }
}
const delay = () => (randomInt(20) === 0 ? 120 + randomInt(200) : 5 + randomInt(55))

async function register(
  house: TestGateway,
  { branchId }: Partner,
  receiver: Receiver,
  path: string,
): Promise<number> {
  receiver.on(path, slowly(house))
  const { db, vault, guard: policy } = house.gateway.context
  const branch = { branchId, environment: 'live' } as const
  const draft = { url: receiver.url(path), secret: 'a secret that nobody knows', kinds: undefined }
  return (await createWebhook({ db, vault, policy }, branch, undefined, draft, house.act())).id
}

/** Until whatever can be delivered has been. */
async function publish(house: TestGateway, { branchId }: Partner, count: number): Promise<void> {
  const { db, publisher } = house.gateway.context
  const events = Array.from({ length: count }, (): NewEvent => {
    const transactionId = randomInt(100_000, 999_999)
    const amount = randomInt(10_000, 900_000) / 100
    const payload = {
      transactionId,
      clearingAccount: '6YA10001',
      type: 'TRANSACTION',
      action: 'SUBMITTED',
      branchId,
      amount,
    }
    return {
      ...{ environment: 'live', branchId, kind: 'TRANSACTION', action: 'SUBMITTED', simulated: false },
      ...{
        entity: `transaction:${transactionId}`,
        body: JSON.stringify({ ...payload, direction: 'DEPOSIT' }),
      },
    }
  })
  await publisher.publish(events, house.clock.now())
  await eventually('they have been sent', () => isAtRest(db, house.clock.now()))
}

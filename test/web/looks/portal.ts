/** Every page of the partner portal, on both sites, and what is seen only after a button. */

import { createHmac } from 'node:crypto'
import { findCallsByRequest } from '../../../src/partners/calls.ts'
import { giveLook } from '../../../src/partners/client-look.ts'
import { addMember, applyWithDetails, decide } from '../../../src/partners/partner.ts'
import { makeAddress } from '../../support/alerts.ts'
import { callJson } from '../../support/branch.ts'
import { check, drawPng } from '../../support/brand.ts'
import { makeKey } from '../../support/client-keys.ts'
import { signProof } from '../../support/fapi.ts'
import { basic } from '../../support/gateway.ts'
import { readInvitation } from '../../support/members.ts'
import { deliverOne, openPartner, type PartnerHouse, suspend } from '../../support/portal.ts'
import { answer } from '../../support/receiver.ts'
import { pressAsked } from '../../support/screen.ts'
import { makeBound, makeMoving, placeUnreadable } from './profiles.ts'
import { unfold, visitAll, type Walk } from './tour.ts'

export async function* portalTour(walk: Walk): AsyncGenerator<string, void> {
  const { house, enter } = walk
  const own = await openPartner(house)
  const pages = await furnish(walk, own)
  await enter(own.home, own.user)
  yield* visitAll(walk, pages)
  yield* unfolded(walk, pages)
  yield* outcomes(walk, pages)
  yield* checkedSignature(walk, own)
  yield* checkedProof(walk, own)
  yield* members(walk, own)
  yield* sandbox(walk, own)
  await suspend(house, own.partner, 'The terms of use were not kept.')
  await enter(own.home, own.user)
  yield 'portal-suspended'
  yield* applicants(walk)
}

/** What the partner of this tour has, and where it is shown. */
async function furnish({ house, receiver }: Walk, own: PartnerHouse): Promise<Record<string, string>> {
  const { home, program, client } = own
  const { webhookId, deliveryId } = await deliverOne(own, receiver, '/toured')
  receiver.on('/refusing', answer(500, {}, '{"error":"out of order"}'))
  const refusing = await program.register(receiver.url('/refusing'), { kinds: ['TRANSACTION'] })
  const fired = await program.fire()
  const failed = fired.deliveries.find((each) => each.webhookId === refusing)!.id
  await callJson(`${house.baseUrl}/v2/webhooks/999999`, 'GET', undefined, {
    ...basic(client),
    'x-request-id': 'toured-call',
  })
  await callJson(`${house.baseUrl}/v2/webhooks`, 'GET', undefined, basic({ ...client, secret: 'wrong' }))
  await house.gateway.context.callLog.flush()
  const [call] = await findCallsByRequest(
    house.gateway.context.db,
    'toured-call',
    undefined,
    house.clock.now(),
    1,
  )
  const said = {
    purpose: 'Shows your holdings.',
    website: 'https://app.example.com/',
    privacyUrl: null,
    termsUrl: null,
  }
  await giveLook(house.gateway.context.db, client, said, await check(drawPng(64, 64)), house.act())
  const onLive = { branchId: own.partner.branchId, environment: 'live' } as const
  await makeAddress(house, onLive)
  await makeAddress(house, onLive, true)
  await placeUnreadable(house, client, receiver)
  const [moving, bound] = [await makeMoving(house, own.partner), await makeBound(house, own.partner)]
  const [well, ill] = [`${home}/webhooks/${webhookId}`, `${home}/webhooks/${refusing}`]
  return {
    'portal-home': home,
    'portal-webhooks': `${home}/webhooks`,
    'portal-webhook': well,
    'portal-webhook-failing': `${ill}?period=day`,
    'portal-incident': `${ill}/incident`,
    'portal-replay': `${well}/replay?from=2026-03-01T00:00`,
    'portal-replay-wrong': `${well}/replay?from=2026-03-03T00:00&to=2026-03-01T00:00`,
    'portal-recover': `${ill}/recover?since=2026-03-01T00:00`,
    'portal-recover-wrong': `${ill}/recover?since=2099-01-01T00:00`,
    'portal-skip': `${ill}/skip`,
    'portal-deliveries': `${home}/deliveries`,
    'portal-deliveries-wrong': `${home}/deliveries?state=lost`,
    'portal-delivery': `${home}/deliveries/${deliveryId}`,
    'portal-delivery-failed': `${home}/deliveries/${failed}`,
    'portal-search': `${home}/search?q=127.0.0.1`,
    'portal-search-none': `${home}/search?q=nowhere`,
    'portal-test': `${home}/test`,
    'portal-clients': `${home}/clients`,
    'portal-client': `${home}/clients/${client.id}`,
    'portal-client-moving': `${home}/clients/${moving.id}`,
    'portal-client-fapi2': `${home}/clients/${bound.id}`,
    'portal-look': `${home}/clients/${client.id}/look`,
    'portal-members': `${home}/members`,
    'portal-calls': `${home}/calls`,
    'portal-calls-wrong': `${home}/calls?status=ten`,
    'portal-call': `${home}/calls/${call!.id}`,
    'portal-alerts': `${home}/alerts`,
    'portal-messages': `${home}/messages`,
    'portal-signature': `${home}/signature`,
    'portal-proofs': `${home}/proofs`,
    'portal-reference': `${home}/reference`,
    'portal-events': `${home}/events`,
  }
}

/** With every question and every menu open. */
async function* unfolded({ page, visit }: Walk, pages: Record<string, string>): AsyncGenerator<string, void> {
  for (const name of [
    'portal-webhooks',
    'portal-webhook',
    'portal-delivery-failed',
    'portal-client',
    'portal-events',
  ]) {
    await visit(pages[name]!)
    await unfold(page)
    yield `${name}-open`
  }
}

async function* outcomes({ page, visit }: Walk, pages: Record<string, string>): AsyncGenerator<string, void> {
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  await visit(pages['portal-client']!)
  await press('Make a new secret')
  await page.locator('code.secret').waitFor()
  yield 'portal-secret'
  await visit(pages['portal-test']!)
  await press('Send')
  await page.waitForURL(/\/test\/evt_\w+$/)
  yield 'portal-test-outcome'
  await visit(pages['portal-replay']!)
  await press(/^Replay \d+/)
  await page.waitForURL(/\/replays\/\d+$/)
  yield 'portal-replay-progress'
  await visit(pages['portal-recover']!)
  await press('Recover')
  await page.waitForURL(/\/replays\/\d+$/)
  yield 'portal-recover-progress'
  await visit(pages['portal-delivery-failed']!)
  await pressAsked(page, 'Skip it')
  await page.locator('.done').waitFor()
  yield 'portal-delivery-skipped'
  await visit(pages['portal-skip']!)
  await page.getByLabel('Skip all queued deliveries').check()
  await press(/^Skip \d+/)
  await page.waitForURL(/\/skips\/\d+$/)
  yield 'portal-skip-progress'
}

async function* checkedSignature(
  { page, visit, receiver }: Walk,
  own: PartnerHouse,
): AsyncGenerator<string, void> {
  const came = receiver.at('/toured')[0]!
  const printed = JSON.stringify(JSON.parse(came.body), undefined, 2)
  await visit(`${own.home}/signature`)
  await page.getByLabel('Headers').fill(
    Object.entries(came.headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
  )
  await page.getByLabel('Body', { exact: true }).fill(printed)
  const computed = createHmac('sha256', own.client.secret).update(printed).digest('base64')
  await page.getByLabel('What your program computed').fill(computed)
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('status', { name: 'Result' }).waitFor()
  yield 'portal-signature-wrong'
}

async function* checkedProof({ page, visit, house }: Walk, own: PartnerHouse): AsyncGenerator<string, void> {
  await visit(`${own.home}/proofs`)
  const url = `${house.baseUrl}/v1/oauth/par`
  const proof = await signProof({ house }, makeKey(), { url }, { claims: { htm: 'GET' } })
  await page.getByLabel('DPoP proof', { exact: true }).fill(proof)
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('status', { name: 'The DPoP proof' }).waitFor()
  yield 'portal-proofs-wrong'
}

/** As each role sees it, and as whoever is invited does. */
async function* members(walk: Walk, own: PartnerHouse): AsyncGenerator<string, void> {
  const { house, page, enter } = walk
  const { db } = house.gateway.context
  const [developer, viewer, stranger] = [
    await house.makeUser(),
    await house.makeUser(),
    await house.makeUser(),
  ]
  await addMember(db, own.partner, developer, house.act(), 'developer')
  await addMember(db, own.partner, viewer, house.act(), 'viewer')
  const at = `${own.home}/members`
  const browser = await house.signIn(own.user)
  const email = 'somebody.with.a.rather.long.name@a.rather.long.domain.example.com'
  await browser.submit(await browser.get(at), `${at}/invite`, { email, role: 'viewer' })
  const { path } = await readInvitation(house, email)
  await page.context().clearCookies()
  yield* visitAll(walk, { 'portal-invitation-stranger': path })
  await enter(at, own.user)
  await unfold(page)
  yield 'portal-members-owner'
  await enter(at, developer)
  yield 'portal-members-developer'
  yield* visitAll(walk, { 'portal-invitation-of-member': path })
  await enter(`${own.home}/test`, viewer)
  yield 'portal-role-needed'
  yield* visitAll(walk, {
    'portal-viewer-webhooks': `${own.home}/webhooks`,
    'portal-viewer-client': `${own.home}/clients/${own.client.id}`,
  })
  await enter(path, stranger)
  yield 'portal-invitation'
  yield* visitAll(walk, { 'portal-invitation-gone': '/partner/invitation/gone' })
}

/** Where the first webhook needs no server, and the reference can be tried. */
async function* sandbox(walk: Walk, own: PartnerHouse): AsyncGenerator<string, void> {
  const { house, page, enter } = walk
  const home = `${house.sandboxUrl}${own.home}`
  await enter(home, own.user)
  yield* visitAll(walk, {
    'sandbox-home': home,
    'sandbox-receiver': `${home}/receiver`,
    'sandbox-test-holders': `${home}/test-holders`,
    'sandbox-clients': `${home}/clients`,
  })
  await page.getByLabel('Name').fill('Quotes')
  await page.getByLabel('Callback').fill('https://quotes.example.com/callback')
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('button', { name: 'Receive a test event now' }).click()
  await page.getByText('signature verified', { exact: true }).waitFor()
  yield 'sandbox-received'
  yield* visitAll(walk, { 'sandbox-home-done': `${home}?language=python` })
  await walk.visit(`${home}/reference`)
  await unfold(page)
  yield 'sandbox-reference-open'
}

/** Whom the brokerage has not let in: who applies, waits, is declined. */
async function* applicants(walk: Walk): AsyncGenerator<string, void> {
  const { house, page, enter } = walk
  const { db } = house.gateway.context
  await enter('/partner', await house.makeUser())
  yield 'portal-apply'
  await page.getByLabel('Name').fill('12')
  await page.getByLabel('Website').fill('https://x.example')
  await page.getByLabel('E-mail').fill('a@b.example')
  await page.getByLabel('What you want to build').fill('something')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('It must not be a number').waitFor()
  yield 'portal-apply-refused'
  const user = await house.makeUser()
  const details = {
    website: 'https://a.example',
    contact: 'a@a.example',
    purpose: 'Charts that grandparents read.',
  }
  const partner = await applyWithDetails(db, user, { name: 'Waiting Ltd', ...details }, house.act())
  const home = `/partner/${partner.branchId}`
  await enter(home, user)
  yield 'portal-applied'
  await decide(db, partner, { status: 'declined', reason: 'Say who your users are.' }, house.act())
  yield* visitAll(walk, { 'portal-declined': home, 'portal-declined-messages': `${home}/messages` })
}

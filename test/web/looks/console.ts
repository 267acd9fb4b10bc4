/** Every page of the operators' console, with something on it. */

import { theBrokerage } from '../../../src/alerts/target.ts'
import { saveDraft, setDraftImage } from '../../../src/brands/brand-acts.ts'
import { after, day } from '../../../src/clock.ts'
import { acceptLook, giveLook } from '../../../src/partners/client-look.ts'
import { applyWithDetails, type Partner } from '../../../src/partners/partner.ts'
import { askForFapi2 } from '../../../src/partners/profile-request.ts'
import { askForRefresh } from '../../../src/partners/refresh-request.ts'
import { askForScopes } from '../../../src/partners/scope-request.ts'
import { setUserStatus } from '../../../src/users/user.ts'
import { openAdminProgram } from '../../support/administration.ts'
import { makeAddress } from '../../support/alerts.ts'
import { check, drawPng, putSecondBrandInForce, secondWords, svgLogo } from '../../support/brand.ts'
import { failCalls } from '../../support/calls.ts'
import { proposeApproval } from '../../support/console.ts'
import { holdSnapshot, households, importLines, readSome } from '../../support/imports.ts'
import { deliverOne, openPartner, suspend } from '../../support/portal.ts'
import { answer } from '../../support/receiver.ts'
import { pressAsked } from '../../support/screen.ts'
import { makeGuardedUser } from '../../support/second-factor.ts'
import { draftUpstream, registerUpstream } from '../../support/upstream.ts'
import { guess } from '../../support/web.ts'
import { makeBound, makeMoving } from './profiles.ts'
import { unfold, visitAll, type Walk } from './tour.ts'

export async function* consoleTour(walk: Walk): AsyncGenerator<string, void> {
  const { house, page, enter, visit } = walk
  const pages = {
    ...(await furnishOperation(walk)),
    ...(await furnishPeople(walk)),
    ...(await furnishImports(walk)),
    ...(await furnishBrand(walk)),
  }
  await enter('/console', await house.makeOperator())
  yield* visitAll(walk, pages)
  for (const [name, address] of Object.entries(pages).filter(([name]) => unfoldable.test(name))) {
    await visit(address)
    await unfold(page)
    yield `${name}-open`
  }
  await visit(pages['console-partner']!)
  await pressAsked(page, 'Suspend', ' ')
  await page.getByText('It must have 1 to 2,000 characters.').waitFor()
  yield 'console-partner-no-reason'
  await visit('/console/webhooks')
  await page.locator('.menu > summary').first().click()
  await page.locator('.menu').first().getByRole('link', { name: 'Pause…' }).click()
  await pressAsked(page, 'Pause', 'It floods them.')
  await page.locator('.done').waitFor()
  yield 'console-told-with-undo'
  await visit('/console/audit/chain')
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('The chain is intact.').waitFor()
  yield 'console-chain-verified'
}

/** Where questions stand before acts, and ids behind sentences. */
const unfoldable = /^console-(home|webhooks|partner|user|import|audit|roles|proposal|brand|look)$/

/** One that is being read, one that went through with faults, and a snapshot that waits for a yes. */
async function furnishImports({ house }: Walk): Promise<Record<string, string>> {
  const lines = [...households('nightly', 3), '{', { kind: 'customer', externalId: 'C 9', version: 1 }]
  const faulty = await importLines(house, 'nightly', lines)
  await importLines(house, 'nightly', households('nightly', 2), { mode: 'snapshot', dryRun: true })
  const running = await readSome(house, 'hourly', households('hourly', 2), { totalBytes: 1_000 })
  return {
    'console-imports': '/console/imports',
    'console-imports-none': '/console/imports?before=1',
    'console-new-import': '/console/imports/new',
    'console-import': `/console/imports/${(await holdSnapshot(house, 14)).id}`,
    'console-import-running': `/console/imports/${running.id}`,
    'console-import-faulty': `/console/imports/${faulty.id}`,
  }
}

/**
 * A draft with logos, a brand that was and one that is in force in the sandbox, and an application that says
 * something new.
 */
async function furnishBrand({ house }: Walk): Promise<Record<string, string>> {
  const { db } = house.gateway.context
  await saveDraft(db, 'live', secondWords, 0, house.act())
  await setDraftImage(db, 'live', 'logoLight', await check(svgLogo('#7a1f5c')), house.act())
  await setDraftImage(db, 'live', 'logoDark', await check(svgLogo('#f09ad0')), house.act())
  await putSecondBrandInForce(house, 'sandbox')
  const client = await house.makeClient()
  const words = {
    purpose: 'Shows your holdings.',
    website: 'https://app.example.com/',
    privacyUrl: null,
    termsUrl: null,
  }
  await giveLook(db, client, words, await check(drawPng(64, 64)), house.act())
  await acceptLook(db, client, 1, house.act())
  await giveLook(db, client, { ...words, purpose: 'Shows your holdings, and trades.' }, 'keep', house.act())
  const preview = '/console/brand/live/preview'
  return {
    'console-brand': '/console/brand/live',
    'console-brand-sandbox': '/console/brand/sandbox',
    'console-preview': preview,
    'console-preview-consent': `${preview}?page=consent`,
    'console-preview-applications': `${preview}?page=applications`,
    'console-preview-error': `${preview}?page=error`,
    'console-look': `/console/partners/${client.branchId}/clients/${client.id}/look`,
  }
}

async function furnishOperation({ house, receiver }: Walk): Promise<Record<string, string>> {
  const own = await openPartner(house)
  const { webhookId } = await deliverOne(own, receiver, '/operated')
  receiver.on('/a/very/long/path/to/where/hooks/are/received', answer(500, {}, 'database is locked'))
  const url = receiver.url('/a/very/long/path/to/where/hooks/are/received')
  const failing = await own.program.register(url, { kinds: ['TRANSACTION'] })
  await own.program.fire()
  await makeAddress(house, theBrokerage)
  await makeAddress(house, theBrokerage, true)
  const ill = `/console/webhooks/${failing}`
  return {
    'console-home': '/console',
    'console-home-day': '/console?period=day',
    'console-alerts': '/console/alerts',
    'console-webhooks': '/console/webhooks',
    'console-webhooks-none': '/console/webhooks?partner=nobody',
    'console-webhooks-wrong': '/console/webhooks?condition=lost',
    'console-webhook': `/console/webhooks/${webhookId}`,
    'console-webhook-failing': `${ill}?period=day`,
    'console-incident': `${ill}/incident`,
    'console-recover': `${ill}/recover`,
    'console-audit': '/console/audit',
    'console-audit-none': '/console/audit?actor=nobody',
    'console-audit-wrong': '/console/audit?from=2026-03-03T00:00&to=2026-03-02T00:00',
    'console-chain': '/console/audit/chain',
    'console-settings': '/console/settings',
    'console-search': '/console/search',
    'console-search-found': '/console/search?q=127.0.0.1',
    'console-search-none': '/console/search?q=nowhere-at-all',
  }
}

async function furnishPeople({ house }: Walk): Promise<Record<string, string>> {
  const { db } = house.gateway.context
  const act = house.act()
  const { partner, client, user: member } = await openPartner(house)
  await house.makeClient({ partner, environment: 'sandbox' })
  const modest = await house.makeClient({ partner, scope: 'read' })
  await askForScopes(db, modest, { wider: 'trade', reason: 'Orders from the chart.' }, act)
  await makeMoving(house, partner)
  await makeBound(house, partner)
  await askForFapi2(db, await house.makeClient({ partner }), after(act.at, 30 * day), act)
  const failed = await failCalls(house, partner.branchId, 60)
  const asking = await house.makePartner({ refresh: false })
  await askForRefresh(db, asking, 'Our users read the paper at breakfast and trade at night.', act)
  const suspended = (await openPartner(house)).partner
  await suspend(
    house,
    suspended,
    'Account holders complained that the application traded without being asked.',
  )
  const { user, browser } = await makeGuardedUser(house)
  await house.makeToken(user)
  await house.makeToken(user, 'sandbox')
  await house.approve(client, browser, { scope: 'read trade' })
  const guessed = await house.makeUser()
  for (let time = 0; time < 5; time++) await guess(house, guessed.username)
  const locked = await house.makeUser()
  await setUserStatus(db, locked, 'disabled', act)
  const details = {
    website: 'https://app.example.com',
    contact: 'dev@app.example.com',
    purpose: 'Portfolios for all.',
  }
  const waiting = await applyWithDetails(
    db,
    await house.makeUser(),
    { name: 'Patient Partners', ...details },
    act,
  )
  await registerUpstream(house, { issuer: 'https://127.0.0.1:9' }, 'bank')
  const staff = await house.makeOperator('Stan Staff', ['viewer', 'partner-manager'])
  await openAdminProgram(house, { role: 'partner-manager', readers: [staff] })
  const at = ({ branchId }: Partner) => `/console/partners/${branchId}`
  return {
    'console-partners': '/console/partners',
    'console-partners-none': '/console/partners?q=nobody&state=approved',
    'console-partners-wrong': '/console/partners?state=lost',
    'console-partner': at(partner),
    'console-calls': `${at(partner)}/calls`,
    'console-call': `${at(partner)}/calls/${failed.id}`,
    'console-partner-applied': at(waiting),
    'console-partner-asking': at(asking),
    'console-partner-suspended': at(suspended),
    'console-users': '/console/users',
    'console-users-found': `/console/users?q=${member.username}`,
    'console-user': `/console/users/${user.id}`,
    'console-user-member': `/console/users/${member.id}`,
    'console-user-guessed': `/console/users/${guessed.id}`,
    'console-user-locked': `/console/users/${locked.id}`,
    'console-proposals': '/console/proposals',
    'console-proposal': `/console/proposals/${await proposeApproval(house, await house.makeOperator('Mary Maker'))}`,
    'console-credentials': '/console/credentials',
    'console-staff': '/console/staff',
    'console-new-user': '/console/users/new',
    'console-new-staff': '/console/staff/new',
    'console-providers': '/console/providers',
    'console-new-provider': '/console/providers/new',
    'console-provider': '/console/providers/bank',
    'console-provider-draft': `/console/providers/${(await draftUpstream(house, { kind: 'staff', linkClaim: null })).name}`,
    'console-provider-tested': '/console/providers/bank/test',
    'console-roles': `/console/staff/${staff.id}`,
  }
}

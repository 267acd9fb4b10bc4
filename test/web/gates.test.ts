/**
 * Every form of the site, and the proof it asks for. A form that is new stands in the table with a gate, or
 * here with a reason.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { defineButton } from '../../src/web/frame/form.ts'
import type { Visit } from '../../src/web/frame/visit.ts'
import {
  developer,
  type FreshMember,
  freshlySignedIn,
  type Member,
  member,
  type Operator,
  owner,
  type StrongOperator,
  type StrongUserSession,
  signedIn,
  staff,
  strongly,
  viewer,
  withFactor,
} from '../../src/web/gates/gates.ts'
import { type PageRoute, page, send } from '../../src/web/route.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { type Browser, hiddenFields } from '../support/browser.ts'
import { makeAdministrator } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { openPartner } from '../support/portal.ts'
import { setUpApp } from '../support/second-factor.ts'

const house = await openHouse()

const forms = pageRoutes.filter(({ method }) => method === 'POST')

/** Why whoever is signed in may send it, however long ago that was. */
const anySession: Record<string, string> = {
  '/login': 'it is the proof',
  '/login/passkey': 'it is the proof',
  '/login/second': 'it is the proof',
  '/login/second/recovery': 'it is the proof',
  '/login/second/passkey': 'it is the proof',
  '/login/cancel': 'it ends what was begun',
  '/login/forgotten': 'whoever forgot their password has no session',
  '/login/reset/:token': 'the link is the proof',
  '/logout': 'it ends the session',
  '/logout/from/:provider': 'a provider sends it, and proves itself by what it signed',
  '/consent': 'it depends on the scopes: findObstacle asks',
  '/consent/other': 'it ends the session',
  '/account/revoke': 'it takes power away',
  '/account/pause': 'it takes power away',
  '/account/resume': 'it gives back what the holder had approved, and no more',
  '/account/api/revoke': 'it takes power away',
  '/account/views/save': 'nobody else sees it',
  '/account/views/remove': 'nobody else sees it',
  '/account/devices/close': 'it takes power away',
  '/account/devices/close/others': 'it takes power away',
  '/account/security/notices': 'what guards the account cannot be declined',
  '/partner/apply': 'an operator decides',
  '/partner/invitation/:token/accept': 'an owner invited',
  '/partner/invitation/:token/join': 'an owner invited',
  '/partner/invitation/:token/decline': 'it takes power away',
  '/partner/:branch/webhooks/:id/pause': 'it can be taken back',
  '/partner/:branch/webhooks/:id/resume': 'it can be taken back',
  '/partner/:branch/webhooks/:id/replay/start': 'it sends what was sent before',
  '/partner/:branch/webhooks/:id/replays/:replay/cancel': 'it takes power away',
  '/partner/:branch/webhooks/:id/recover/start': 'it sends what was sent before',
  '/partner/:branch/webhooks/:id/skip/start': 'it takes power away',
  '/partner/:branch/webhooks/:id/incident/probe': 'it sends what waits to be sent',
  '/partner/:branch/signature/check':
    'it changes nothing, and knows of no secret more than whether it matches',
  '/partner/:branch/proofs/check': 'it changes nothing, and knows of public keys alone',
  '/partner/:branch/deliveries/:id/skip': 'it takes power away',
  '/partner/:branch/deliveries/:id/redeliver': 'it sends what was sent before',
  '/partner/:branch/deliveries/again': 'it sends what was sent before',
  '/partner/:branch/test/send': 'simulated events move nothing',
  '/partner/:branch/receiver/try':
    'simulated events move nothing, and this one leaves the sandbox for nowhere',
  '/partner/:branch/alerts/code': 'it goes where a developer said before',
  '/partner/:branch/alerts/change': 'of what, and not where',
  '/partner/:branch/alerts/test': 'nothing happened, and it goes where a developer said before',
  '/partner/:branch/alerts/remove': 'it takes power away',
  '/partner/:branch/apply': 'an operator decides',
  '/partner/:branch/messages/send': 'an operator reads it',
  '/partner/:branch/clients/refresh': 'an operator decides',
  '/partner/:branch/clients/:client/revoke': 'it takes power away',
  '/partner/:branch/clients/:client/remove-key': 'it takes power away',
  '/console/audit/chain/verify': 'it only looks',
}

type Gate = PageRoute['gate']

const asksFor = (proof: Gate['proofs'][number]) => (route: PageRoute) => route.gate.proofs.includes(proof)
const asks = ({ gate }: PageRoute) => gate.proofs.length > 0

/** Whom an address is for, by its beginning: the first that fits. */
const audiences: readonly (readonly [RegExp, Gate['who']])[] = [
  [/^\/console\b/, 'operator'],
  [/^\/partner\/:branch(\/apply|\/messages(\/send)?)?$/, 'member'],
  [/^\/partner\/:branch\//, 'approved member'],
  [/^\/partner(\/invitation\/:token)?$/, 'visitor'],
  [/^\/partner\/invitation\/:token\/join$/, 'anyone'],
  [/^\/(partner|account)\b/, 'signed in'],
  [
    /^\/(v1\/oauth\/authorize|login(\/sandbox|\/live(\/back)?|\/second(\/(recovery|passkey))?|\/cancel|\/passkey|\/password|\/signed-out|\/forgotten|\/reset\/:token|\/(with|from)\/:provider)?|logout(\/from\/:provider)?|consent(\/other)?|\.well-known\/change-password)?$/,
    'anyone',
  ],
]

test('an address says whom it is for, and its gate lets nobody else through', () => {
  for (const { method, path, gate } of pageRoutes)
    assert.equal(gate.who, audiences.find(([pattern]) => pattern.test(path))?.[1], `${method} ${path}`)
})

test('whoever has to sign in first returns to the page that the form is on, which they may see there', () => {
  for (const { path, heldBy, gate, sites } of forms.filter(({ gate }) => gate.who !== 'anyone')) {
    const holder = pageRoutes.find((route) => route.method === 'GET' && route.path === heldBy)
    assert.ok(holder, `${path} is on ${heldBy}`)
    assert.ok([gate.who, 'visitor'].includes(holder.gate.who), `${path} is on ${heldBy}`)
    assert.ok(
      sites.every((site) => holder.sites.includes(site)),
      `${path} is on ${heldBy}`,
    )
  }
})

test('a handler does not type-check behind a gate that proves less than it needs', () => {
  const ofOperators = async (_visit: Visit, _operator: Operator) => {}
  const ofStrongOperators = async (_visit: Visit, _operator: StrongOperator) => {}
  const ofMembers = async (_visit: Visit, _member: Member) => {}
  const ofFreshMembers = async (_visit: Visit, _member: FreshMember) => {}
  const ofStrong = async (_visit: Visit, _visitor: StrongUserSession) => {}
  const [right, wrong] = [defineButton('/right'), defineButton('/wrong')]
  const rows = [
    page('/right', staff('overview.see').and(strongly), ofOperators),
    send(right, staff('overview.see').and(strongly), ofStrongOperators),
    page('/right', viewer, ofMembers),
    send(right, owner.and(freshlySignedIn), ofFreshMembers),
    // @ts-expect-error: whoever is signed in, however strongly, is no operator
    page('/wrong', strongly, ofOperators),
    // @ts-expect-error: the proofs may have been given hours ago
    send(wrong, staff('overview.see'), ofStrongOperators),
    // @ts-expect-error: the partner may be suspended
    page('/wrong', member, ofMembers),
    // @ts-expect-error: the password may have been given hours ago
    send(wrong, developer, ofFreshMembers),
    // @ts-expect-error: the second factor is missing
    send(wrong, freshlySignedIn, ofStrong),
    // @ts-expect-error: the password may have been given hours ago
    send(wrong, withFactor, ofStrong),
    // @ts-expect-error: nothing is proven
    send(wrong, signedIn, ofStrong),
  ]
  assert.equal(rows.length, 11)
})

test('every form names the proof that it asks for, or is known to need none', () => {
  for (const route of forms) assert.equal(asks(route), !Object.hasOwn(anySession, route.path), route.path)
  for (const path of Object.keys(anySession))
    assert.ok(
      forms.some((route) => route.path === path),
      path,
    )
})

test('whatever hands out lasting power over an account asks for every proof that its holder has', () => {
  const powers =
    /^\/account\/(api\/tokens|security\/(app|passkey|recovery|email)\b.*|password)$|^\/console\/(partners|users|imports|webhooks|staff|proposals|providers|brand)\//
  const found = forms.filter(({ path }) => powers.test(path))
  assert.ok(found.length > 20, String(found.length))
  for (const route of found) assert.ok(asksFor('factor')(route), route.path)
})

test('whatever decides where real events go, who reads them or what a program may do asks for the password once more', () => {
  const powers =
    /^\/partner\/:branch\/(clients|webhooks)\/(:\w+\/)?(create|update|scopes|rotate|secret|delete|look\/save)$/
  const found = forms.filter(({ path }) => powers.test(path))
  assert.equal(found.length, 9)
  for (const route of found) assert.ok(asksFor('password')(route), route.path)
})

test('in the sandbox a webhook asks for nothing once more: what is sent from there is nobody’s', async () => {
  const { partner, user } = await openPartner(house)
  const browser = await house.signIn(user, 'sandbox')
  house.clock.advance(5 * minute + 1)
  const home = `/partner/${partner.branchId}/webhooks`
  const page = await browser.get(home)
  const url = 'https://sandbox.example.com/hook'
  const made = await browser.submit(page, `${home}/create`, { url, secret: 'a secret of its own' })
  assert.equal(made.status, 303, made.text)
  assert.match(made.location!, /^\/partner\/\d+\/webhooks\/\d+/)
})

/** An operator who is a member of a partner too, and manages another: nothing but the proof is missing. */
async function openEverywhere(): Promise<{ browser: Browser; addressOf: (path: string) => string }> {
  const { partner, user } = await openPartner(house)
  await makeAdministrator(house, user)
  const params: Record<string, string> = {
    ...{ branch: String(partner.branchId), id: '1', client: 'none', replay: '1', token: 'none' },
  }
  const managed: Record<string, string> = { ...params, branch: String((await house.makePartner()).branchId) }
  const addressOf = (path: string) =>
    path.replaceAll(/:(\w+)/g, (_, name: string) => (path.startsWith('/console') ? managed : params)[name]!)
  return { browser: await house.signIn(user), addressOf }
}

async function assertAllAsk(
  routes: readonly PageRoute[],
  browser: Browser,
  addressOf: (path: string) => string,
) {
  const { csrf } = hiddenFields((await browser.get('/account')).text, '/logout')
  for (const { path } of routes) {
    const answer = await browser.post(addressOf(path), { csrf: csrf! })
    assert.match(answer.location ?? `${answer.status}`, /^\/login\?return=[^&]+&confirm=1$/, path)
  }
}

test('a sign-in of more than five minutes ago is asked for again by every form that names a proof', async () => {
  const { browser, addressOf } = await openEverywhere()
  house.clock.advance(5 * minute + 1)
  const byAge = forms.filter(asksFor('password'))
  await assertAllAsk(byAge, browser, addressOf)
})

test('a password of a minute ago is not enough for whoever has a second factor', async () => {
  const { browser, addressOf } = await openEverywhere()
  await setUpApp(house, browser)
  await assertAllAsk(forms.filter(asksFor('factor')), browser, addressOf)
})

/** Forms that a viewer may send. Every other one of a partner takes a developer, or an owner. */
const ofViewers: Record<string, string> = {
  '/partner/:branch/signature/check': 'it changes nothing',
  '/partner/:branch/proofs/check': 'it changes nothing',
  '/partner/:branch/members/leave': 'it takes power away from whoever sends it',
}

test('every row of a partner names the least role, and a viewer changes nothing', () => {
  for (const { method, path, gate } of pageRoutes) {
    assert.equal(gate.least !== undefined, /^\/partner\/:branch\b/.test(path), `${method} ${path}`)
    if (method === 'POST' && gate.least !== undefined)
      assert.equal(gate.least === 'viewer', Object.hasOwn(ofViewers, path), path)
  }
  const ofOwners = pageRoutes.filter(({ gate }) => gate.least === 'owner').map(({ path }) => path)
  assert.deepEqual(ofOwners.toSorted(), [
    '/partner/:branch/apply',
    ...['invite', 'remove', 'resend', 'role', 'uninvite'].map((act) => `/partner/:branch/members/${act}`),
  ])
})

/**
 * Every form that makes something, from the tables of all pages: sent again, at once or much later, on
 * whichever node, it makes nothing more.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AlertOwner, theBrokerage } from '../../src/alerts/target.ts'
import { day } from '../../src/clock.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { setScopesAtMost } from '../../src/partners/client.ts'
import { inviteMember } from '../../src/partners/invitation.ts'
import {
  applyWithDetails,
  getPartner,
  setPartnerStatus,
  setRefreshAccess,
} from '../../src/partners/partner.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { insertEvents } from '../../src/webhooks/events/event.ts'
import { createWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { queueAddress } from '../support/alerts.ts'
import { ask } from '../support/ask.ts'
import { Authenticator, readOptions } from '../support/authenticator.ts'
import { type Answer, type Browser, type Fields, hiddenFields, postForm } from '../support/browser.ts'
import { deliveriesOf, endDelivery, numberEvents } from '../support/by-hand.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { readInvitation } from '../support/members.ts'
import { openSecondNode } from '../support/oauth.ts'
import { openPartner, type PartnerHouse } from '../support/portal.ts'
import { makeApp, makeGuardedUser, readSecret } from '../support/second-factor.ts'
import { approveForm, countRows, openConsent } from '../support/web.ts'
import { newProvider } from './console/provider-rows.ts'
import { newCredential, newStaff } from './console/staff-rows.ts'

const house = await openHouse({ HOST: 'localhost', ROLES: 'api', WEBHOOK_ALLOW_LOOPBACK: 'true' })
const second = await keepOpen(openSecondNode(house))
const db = house.gateway.context.db

/** A form as it is about to be sent. */
interface Sample {
  readonly browser: Browser
  readonly action: string
  readonly fields: Fields
  /**
   * What happens before it is sent again: without it a second sending might be refused for another reason
   * than the first.
   */
  readonly meanwhile?: () => Promise<unknown>
  /** Where what it makes is no row of its own. */
  readonly made?: () => Promise<unknown>
  /** A passkey is bound to the address of the site, and each node of a test has its own. */
  readonly firstNodeOnly?: boolean
  readonly inSandbox?: boolean
}

async function fill(browser: Browser, page: string, action: string, fields: Fields = {}): Promise<Sample> {
  const opened = await browser.get(page)
  assert.equal(opened.status, 200, `${page}: ${opened.text}`)
  return { browser, action, fields: { ...hiddenFields(opened.text, action), ...fields } }
}

let names = 0
const newName = () => `thing-${++names}`
const url = () => `http://127.0.0.1:9/${newName()}`
const run = (text: string, values: readonly unknown[] = []) => ask(db, text, values)

const newAddress = () => ({ url: url(), what: 'failing', wait: '5' })

/** Of an address that is confirmed, or waits for its code. */
async function onAddress(browser: Browser, home: string, owner: AlertOwner, verb: 'code' | 'test') {
  // The brokerage has five at most: those of before make room.
  await run(`UPDATE alert_targets SET state = 'removed', created_at = 'epoch' WHERE kind = 'address'`)
  const { target } = await queueAddress(house, owner, verb === 'test')
  return fill(browser, `${home}/alerts`, `${home}/alerts/${verb}`, { target })
}

async function addWebhook({ partner }: PartnerHouse): Promise<number> {
  const { vault, guard: policy } = house.gateway.context
  const branch = { branchId: partner.branchId, environment: 'live' } as const
  const draft = { url: url(), secret: 'a secret of its own', kinds: undefined }
  return (await createWebhook({ db, vault, policy }, branch, undefined, draft, house.act())).id
}

/** A delivery that was settled, of a webhook of the partner. */
async function addDelivery(own: PartnerHouse): Promise<{ webhookId: number; id: string }> {
  const waiting = await addWaiting(own)
  await endDelivery(house, waiting.id)
  return waiting
}

async function addWaiting(own: PartnerHouse): Promise<{ webhookId: number; id: string }> {
  const webhookId = await addWebhook(own)
  const common = {
    environment: 'live',
    branchId: own.partner.branchId,
    kind: 'TRANSACTION',
    action: 'SUBMITTED',
  } as const
  const now = house.clock.now()
  await insertEvents(db, [{ ...common, entity: newName(), body: '{}', simulated: false }], now)
  await numberEvents(house)
  const [id] = await deliveriesOf(house, webhookId)
  return { webhookId, id: id! }
}

async function inPortal(make: (own: PartnerHouse) => Promise<Sample>): Promise<Sample> {
  return make(await openPartner(house))
}

/** What was sent again has ended meanwhile. */
function sendingAgain(sample: Sample, { id, webhookId }: { id: string; webhookId: number }): Sample {
  const made = () =>
    run('SELECT seq, round, state FROM outcomes WHERE webhook_id = $1 ORDER BY seq, round', [webhookId])
  const settleRepeats = async () => {
    const repeats = await ask<{ round: number }>(db, 'SELECT round FROM agains WHERE webhook_id = $1', [
      webhookId,
    ])
    assert.equal(repeats.length, 1)
    await endDelivery(house, `${id}-${repeats[0]!.round}`)
  }
  return { ...sample, meanwhile: settleRepeats, made }
}

const samples: Record<string, () => Promise<Sample>> = {
  '/consent': async () => {
    const browser = await house.signIn(await house.makeUser())
    const page = await openConsent(browser, await house.makeClient())
    return { browser, action: '/consent', fields: approveForm(page) }
  },
  '/account/api/tokens': async () =>
    fill(await house.signIn(await house.makeUser()), '/account/api', '/account/api/tokens', {
      name: 'mine',
      environment: 'live',
    }),
  '/account/security/app': async () => {
    const browser = await house.signIn(await house.makeUser())
    const page = await browser.get('/account/security/app')
    const action = '/account/security/app'
    const code = makeApp(house, readSecret(page)).code()
    return { browser, action, fields: { ...hiddenFields(page.text, action), code } }
  },
  '/account/security/passkey': async () => {
    const browser = await house.signIn(await house.makeUser())
    const action = '/account/security/passkey'
    const page = await browser.get(action)
    const credential = new Authenticator(house.baseUrl).create(readOptions(page))
    const fields = { ...hiddenFields(page.text, action), name: 'My key', credential }
    return { browser, action, fields, firstNodeOnly: true }
  },
  '/account/security/recovery': async () =>
    fill((await makeGuardedUser(house)).browser, '/account/security', '/account/security/recovery'),
  '/partner/apply': async () => {
    const user = await house.makeUser()
    const details = { website: 'https://app.example.com', contact: 'ada@example.com', purpose: 'To try it.' }
    const sample = await fill(await house.signIn(user), '/partner', '/partner/apply', {
      name: newName(),
      ...details,
    })
    // Answered, and renamed: nothing but the mark is left to refuse the second.
    const meanwhile = () =>
      run(
        `UPDATE partners p SET status = 'approved', name = name || ' renamed' FROM partner_applications a
         WHERE a.branch_id = p.branch_id AND a.applicant_id = $1`,
        [user.id],
      )
    return { ...sample, meanwhile }
  },
  '/partner/:branch/alerts/add': () =>
    inPortal(({ browser, home }) => fill(browser, `${home}/alerts`, `${home}/alerts/add`, newAddress())),
  '/partner/:branch/alerts/code': () =>
    inPortal(({ browser, home, partner: { branchId } }) =>
      onAddress(browser, home, { branchId, environment: 'live' }, 'code'),
    ),
  '/partner/:branch/alerts/test': () =>
    inPortal(({ browser, home, partner: { branchId } }) =>
      onAddress(browser, home, { branchId, environment: 'live' }, 'test'),
    ),
  '/console/alerts/add': async () =>
    fill(
      await house.signIn(await house.makeOperator()),
      '/console/alerts',
      '/console/alerts/add',
      newAddress(),
    ),
  '/console/alerts/code': async () =>
    onAddress(await house.signIn(await house.makeOperator()), '/console', theBrokerage, 'code'),
  '/console/alerts/test': async () =>
    onAddress(await house.signIn(await house.makeOperator()), '/console', theBrokerage, 'test'),
  '/partner/:branch/webhooks/create': () =>
    inPortal(({ browser, home }) =>
      fill(browser, `${home}/webhooks`, `${home}/webhooks/create`, { url: url() }),
    ),
  '/partner/:branch/webhooks/:id/secret': () =>
    inPortal(async (own) => {
      const page = `${own.home}/webhooks/${await addWebhook(own)}`
      return fill(own.browser, page, `${page}/secret`, { secret: 'another secret of its own' })
    }),
  '/partner/:branch/webhooks/:id/replay/start': () =>
    inPortal(async (own) => {
      const page = `${own.home}/webhooks/${(await addDelivery(own)).webhookId}/replay`
      return fill(own.browser, `${page}?from=2020-01-01T00:00`, `${page}/start`)
    }),
  '/partner/:branch/webhooks/:id/recover/start': () =>
    inPortal(async (own) => {
      const page = `${own.home}/webhooks/${(await addDelivery(own)).webhookId}/recover`
      return fill(own.browser, `${page}?since=2020-01-01T00:00`, `${page}/start`)
    }),
  '/partner/:branch/webhooks/:id/skip/start': () =>
    inPortal(async (own) => {
      const { webhookId } = await addWaiting(own)
      const page = `${own.home}/webhooks/${webhookId}/skip`
      const sample = await fill(own.browser, page, `${page}/start`, { confirmed: 'yes' })
      return { ...sample, made: () => run('SELECT upto FROM passes WHERE webhook_id = $1', [webhookId]) }
    }),
  '/partner/:branch/webhooks/:id/incident/probe': () =>
    inPortal(async (own) => {
      const page = `${own.home}/webhooks/${(await addWaiting(own)).webhookId}/incident`
      return fill(own.browser, page, `${page}/probe`)
    }),
  '/console/webhooks/:id/incident/probe': () =>
    inPortal(async (own) => {
      const page = `/console/webhooks/${(await addWaiting(own)).webhookId}/incident`
      return fill(await house.signIn(await house.makeOperator()), page, `${page}/probe`)
    }),
  '/console/webhooks/:id/recover/start': () =>
    inPortal(async (own) => {
      const page = `/console/webhooks/${(await addDelivery(own)).webhookId}/recover`
      return fill(await house.signIn(await house.makeOperator()), page, `${page}/start`)
    }),
  '/partner/:branch/deliveries/:id/redeliver': () =>
    inPortal(async (own) => {
      const delivery = await addDelivery(own)
      const page = `${own.home}/deliveries/${delivery.id}`
      return sendingAgain(await fill(own.browser, page, `${page}/redeliver`), delivery)
    }),
  '/partner/:branch/deliveries/again': () =>
    inPortal(async (own) => {
      const delivery = await addDelivery(own)
      const page = `${own.home}/deliveries`
      const fields = { delivery: delivery.id }
      return sendingAgain(await fill(own.browser, page, `${page}/again`, fields), delivery)
    }),
  '/partner/:branch/test/send': () =>
    inPortal(async (own) => {
      await addWebhook(own)
      return fill(own.browser, `${own.home}/test`, `${own.home}/test/send`, testHook)
    }),
  '/partner/:branch/apply': async () => {
    const user = await house.makeUser()
    const details = {
      name: newName(),
      website: 'https://app.example.com',
      contact: 'ada@example.com',
      purpose: 'Try.',
    }
    const partner = await applyWithDetails(db, user, details, {
      by: { name: `user:${user.id}` },
      at: house.clock.now(),
    })
    const decline = async () =>
      setPartnerStatus(
        db,
        await getPartner(db, String(partner.branchId)),
        'declined',
        'Say more.',
        house.act(),
      )
    await decline()
    const home = `/partner/${partner.branchId}`
    const sample = await fill(await house.signIn(user), home, `${home}/apply`, {
      ...details,
      purpose: 'To try it.',
    })
    return { ...sample, meanwhile: decline }
  },
  '/partner/:branch/messages/send': () =>
    inPortal(({ browser, home }) =>
      fill(browser, `${home}/messages`, `${home}/messages/send`, { message: 'Hello.' }),
    ),
  '/console/users/create': async () => {
    const browser = await house.signIn(await house.makeOperator())
    const username = newName()
    const fields = { username, name: 'New User', email: `${username}@example.com` }
    return fill(browser, '/console/users/new', '/console/users/create', fields)
  },
  '/console/staff/new/create': async () => {
    const browser = await house.signIn(await house.makeOperator())
    const fields = { ...newStaff(newName()), reason: 'A new colleague.' }
    return fill(browser, '/console/staff/new', '/console/staff/new/create', fields)
  },
  '/console/credentials/create': async () => {
    const operator = await house.makeOperator()
    const fields = { ...newCredential(operator.username), reason: 'A pipeline.' }
    return fill(await house.signIn(operator), '/console/credentials', '/console/credentials/create', fields)
  },
  '/console/providers/new/create': async () => {
    const browser = await house.signIn(await house.makeOperator())
    return fill(browser, '/console/providers/new', '/console/providers/new/create', newProvider(newName()))
  },
  '/console/partners/:branch/message': async () => {
    const page = `/console/partners/${(await house.makePartner()).branchId}`
    const browser = await house.signIn(await house.makeOperator())
    return fill(browser, page, `${page}/message`, { message: 'Hello.' })
  },
  '/partner/:branch/clients/create': () =>
    inPortal(({ browser, home }) => {
      const fields = { name: newName(), callback: 'https://app.example.com/callback', scope: 'read' }
      return fill(browser, `${home}/clients`, `${home}/clients/create`, fields)
    }),
  '/partner/:branch/clients/refresh': () =>
    inPortal(async ({ browser, home, partner }) => {
      await setRefreshAccess(db, partner, false, house.act())
      const sample = await fill(browser, `${home}/clients`, `${home}/clients/refresh`, {
        reason: 'It is needed.',
      })
      return { ...sample, meanwhile: () => setRefreshAccess(db, partner, false, house.act()) }
    }),
  '/partner/:branch/clients/:client/scopes': () =>
    inPortal(async ({ browser, home, client }) => {
      await setScopesAtMost(db, client, ['read'], house.act())
      const page = `${home}/clients/${client.id}`
      const sample = await fill(browser, page, `${page}/scopes`, { wider: 'trade', reason: 'It is needed.' })
      const decline = `UPDATE scope_requests SET granted = '{}', answered_at = asked_at WHERE client_id = $1`
      return { ...sample, meanwhile: () => run(decline, [client.id]) }
    }),
  '/partner/:branch/clients/:client/profile': () =>
    inPortal(async ({ browser, home, client }) => {
      const page = `${home}/clients/${client.id}`
      const sample = await fill(browser, page, `${page}/profile`)
      const decline = `UPDATE profile_requests SET granted = false, answered_at = asked_at WHERE client_id = $1`
      return { ...sample, meanwhile: () => run(decline, [client.id]) }
    }),
  '/partner/:branch/receiver/try': async () => {
    const { user, home } = await openPartner(house)
    const browser = await house.signIn(user, 'sandbox')
    return { ...(await fill(browser, `${home}/receiver`, `${home}/receiver/try`)), inSandbox: true }
  },
  '/partner/:branch/clients/:client/rotate': () =>
    inPortal(async ({ browser, home, client }) => {
      const page = `${home}/clients/${client.id}`
      const sample = await fill(browser, page, `${page}/rotate`, { overlap: 'none' })
      return { ...sample, meanwhile: async () => house.clock.advance(1_000) }
    }),
  '/partner/:branch/members/invite': () =>
    inPortal(async ({ browser, home, partner }) => {
      const email = `${newName()}@example.com`
      const sample = await fill(browser, `${home}/members`, `${home}/members/invite`, {
        email,
        role: 'viewer',
      })
      return {
        ...sample,
        meanwhile: () => run('DELETE FROM invitations WHERE branch_id = $1', [partner.branchId]),
      }
    }),
  '/partner/:branch/members/resend': () =>
    inPortal(async ({ browser, home, partner }) => {
      const invited = { email: `${newName()}@example.com`, role: 'viewer' } as const
      await inviteMember(house.gateway.context, partner, invited, house.act())
      return fill(browser, `${home}/members`, `${home}/members/resend`)
    }),
  '/partner/invitation/:token/accept': async () => {
    const [user, partner] = [await house.makeUser(), await house.makePartner()]
    const invited = { email: `${newName()}@example.com`, role: 'viewer' } as const
    await inviteMember(house.gateway.context, partner, invited, house.act())
    const { path } = await readInvitation(house, invited.email)
    return fill(await house.signIn(user), path, `${path}/accept`)
  },
}

const testHook = {
  ...{ transactionId: '42', clearingAccount: '1234', action: 'SUBMITTED', branchId: '7' },
  ...{ email: 'test@example.com', amount: '500.10', direction: 'DEPOSIT' },
}

/**
 * Those that change what is there, or end it: sent again they find it so. A sign-in is one whenever it is
 * made, and listed under devices.
 */
const makeNothing = [
  '/partner/:branch/clients/:client/look/save',
  ...['accept', 'decline', 'withdraw'].map(
    (verb) => `/console/partners/:branch/clients/:client/look/${verb}`,
  ),
  ...['save', 'image', 'image/remove', 'activate', 'discard', 'return'].map(
    (verb) => `/console/brand/:site/${verb}`,
  ),
  '/login',
  '/login/second',
  '/login/second/recovery',
  '/login/second/passkey',
  '/login/passkey',
  '/login/cancel',
  '/consent/other',
  '/login/forgotten',
  '/login/reset/:token',
  '/logout',
  '/logout/from/:provider',
  '/account/revoke',
  '/account/pause',
  '/account/resume',
  '/account/api/revoke',
  '/account/devices/close',
  '/account/devices/close/others',
  '/account/security/app/remove',
  '/account/security/passkey/remove',
  '/account/views/save',
  '/account/views/remove',
  '/account/security/notices',
  '/account/security/email',
  '/account/security/email/remove',
  '/account/password',
  '/partner/:branch/alerts/confirm',
  '/partner/:branch/alerts/change',
  '/partner/:branch/alerts/remove',
  '/console/alerts/confirm',
  '/console/alerts/change',
  '/console/alerts/remove',
  '/partner/:branch/webhooks/:id/update',
  '/partner/:branch/webhooks/:id/pause',
  '/partner/:branch/webhooks/:id/resume',
  '/partner/:branch/webhooks/:id/delete',
  '/partner/:branch/webhooks/:id/replays/:replay/cancel',
  '/partner/:branch/deliveries/:id/skip',
  '/partner/:branch/signature/check',
  '/partner/:branch/proofs/check',
  '/partner/:branch/clients/:client/update',
  '/partner/:branch/clients/:client/revoke',
  ...['add-keys', 'remove-key', 'place-keys'].map((verb) => `/partner/:branch/clients/:client/${verb}`),
  '/partner/:branch/members/uninvite',
  '/partner/:branch/members/leave',
  '/partner/:branch/members/role',
  '/partner/invitation/:token/join',
  '/partner/invitation/:token/decline',
  '/partner/:branch/members/remove',
  '/console/webhooks/:id/pause',
  '/console/webhooks/:id/resume',
  '/console/audit/chain/verify',
  '/console/partners/:branch/approve',
  '/console/partners/:branch/decline',
  '/console/partners/:branch/suspend',
  '/console/partners/:branch/clients/:client/scopes',
  '/console/partners/:branch/clients/:client/required',
  '/console/partners/:branch/clients/:client/scopes/grant',
  '/console/partners/:branch/clients/:client/scopes/decline',
  '/console/partners/:branch/clients/:client/profile',
  '/console/partners/:branch/clients/:client/profile/decline',
  '/console/partners/:branch/refresh/grant',
  '/console/partners/:branch/refresh/withdraw',
  '/console/partners/:branch/clients/:client/suspend',
  '/console/partners/:branch/clients/:client/activate',
  '/console/users/:id/email',
  '/console/users/:id/reset',
  '/console/users/:id/lock',
  '/console/users/:id/unlock',
  '/console/users/:id/sessions/close',
  '/console/users/:id/sessions/close/all',
  '/console/users/:id/tokens/revoke',
  '/console/users/:id/applications/revoke',
  '/console/users/:id/factors/reset',
  '/console/users/:id/throttle/lift',
  '/console/imports/new/upload',
  '/console/imports/:id/remove',
  '/console/imports/:id/stop',
  '/console/credentials/revoke',
  '/console/proposals/:id/approve',
  '/console/proposals/:id/decline',
  '/console/proposals/:id/withdraw',
  '/console/providers/:provider/enable',
  '/console/providers/:provider/change',
  '/console/providers/:provider/credential',
  '/console/providers/:provider/remove',
  '/console/staff/:id/give',
  '/console/staff/:id/take',
]

const forms = pageRoutes.filter(({ method }) => method === 'POST')
const making = forms.filter(({ definition }) => definition?.makes).map(({ path }) => path)

test('of every form of the site it is said whether it makes something', () => {
  const others = forms.filter(({ definition }) => !definition?.makes).map(({ path }) => path)
  assert.deepEqual(others.sort(), makeNothing.toSorted())
  assert.deepEqual(making.toSorted(), Object.keys(samples).sort())
})

const changesByItself = [
  ...['audit_anchor_keys', 'audit_blocks', 'audit_heads', 'audit_unsealed'],
  ...['outbox', 'log', 'feed_days', 'days', 'webhook_counts', 'workers', 'calls'],
  // A sending that finds its session renewed by another waits for a sign-in: it has made nothing.
  'kept_forms',
]

/** How many rows there are of everything. */
async function countAll(): Promise<Map<string, number>> {
  const tables = await ask<{ name: string }>(
    db,
    `SELECT relname AS name FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
         ORDER BY 1`,
  )
  const counted = tables
    .filter(({ name }) => !changesByItself.includes(name))
    .map(async ({ name }) => [name, await countRows(db, name)] as const)
  return new Map(await Promise.all(counted))
}

/** What there is more, or less, of everything afterwards. */
async function changesBy(act: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await countAll()
  await act()
  const changes = [...(await countAll())].map(([name, rows]) => [name, rows - before.get(name)!] as const)
  return Object.fromEntries(changes.filter(([, more]) => more !== 0))
}

const isWell = ({ status }: Answer) => status === 200 || status === 303

for (const path of making) {
  test(`${path} is sent again, as by a reload or the back button: nothing more is made, and what was made is shown`, async () => {
    const { browser, action, fields, meanwhile, made } = await samples[path]!()
    let first: Answer | undefined
    const changes = await changesBy(async () => {
      first = await browser.post(action, fields)
    })
    assert.ok(isWell(first!), first!.text)
    assert.ok(Object.keys(changes).length > 0, 'it makes something')
    await meanwhile?.()
    const before = await made?.()
    let again: Answer | undefined
    assert.deepEqual(
      await changesBy(async () => {
        again = await browser.post(action, fields)
      }),
      {},
    )
    assert.deepEqual(await made?.(), before)
    assert.ok(again!.status < 500, again!.text)
    if (again!.location?.startsWith('/'))
      assert.ok(isWell(await browser.get(again!.location)), again!.location)
  })

  test(`${path} is sent four times at once on two nodes: what one sending makes is made`, async () => {
    const one = await samples[path]!()
    const changes = await changesBy(() => one.browser.post(one.action, one.fields))
    const { browser, action, fields, firstNodeOnly, inSandbox } = await samples[path]!()
    const headers = { accept: 'text/html', origin: 'null', cookie: browser.cookieHeader }
    const other = inSandbox ? second.sandboxUrl : second.baseUrl
    const nodes = [browser.origin, firstNodeOnly ? browser.origin : other]
    let answers: Answer[] = []
    const together = await changesBy(async () => {
      answers = await Promise.all(
        [...nodes, ...nodes].map((node) => postForm(node + action, fields, headers)),
      )
    })
    assert.deepEqual(together, changes)
    assert.ok(answers.some(isWell))
    assert.ok(
      answers.every(({ status }) => status < 500),
      answers.map(({ status }) => status).join(' '),
    )
  })
}

const secretOf = ({ text }: Answer) => /<code class="secret">([A-Za-z0-9]+)<\/code>/.exec(text)?.[1]

test('whoever sends it again is told what was made, where it is, and how to get another secret, which is not shown again', async () => {
  const words: Record<string, RegExp> = {
    '/account/api/tokens':
      /The token that it made is listed below and was shown once\.[\s\S]*<strong>mine<\/strong>/,
    '/account/security/recovery': /The recovery codes that it made were shown once\./,
    '/partner/:branch/clients/create': /registered this application\. Its secret was shown once\./,
    '/partner/:branch/clients/:client/rotate': /made one secret, which was shown once\./,
  }
  for (const [path, told] of Object.entries(words)) {
    const { browser, action, fields } = await samples[path]!()
    const first = await browser.post(action, fields)
    const again = await browser.post(action, fields)
    assert.equal(again.status, 303, path)
    const shown = await browser.get(again.location!)
    assert.match(shown.text, told, path)
    const secret = secretOf(first)
    assert.ok(secret === undefined || !shown.text.includes(secret), path)
  }
})

test('a form whose act was refused, or failed, counts when it is sent again', async () => {
  const { browser, action, fields } = await samples['/account/api/tokens']!()
  assert.equal((await browser.post(action, { ...fields, name: '' })).status, 400)
  await run(`ALTER TABLE api_tokens ADD CONSTRAINT no_more CHECK (name <> 'mine') NOT VALID`)
  const failed = await browser.post(action, fields)
  await run('ALTER TABLE api_tokens DROP CONSTRAINT no_more')
  assert.equal(failed.status, 500)
  const made = await browser.post(action, fields)
  assert.equal(made.status, 200)
  assert.ok(secretOf(made))
})

test('whoever goes back, and types something else into the same form, makes something else', async () => {
  const { browser, action, fields } = await samples['/partner/:branch/webhooks/create']!()
  const first = await browser.post(action, fields)
  const other = await browser.post(action, { ...fields, url: url() })
  assert.equal(other.status, 303)
  assert.notEqual(other.location, first.location)
  assert.equal((await browser.post(action, fields)).location, first.location)
})

test('a form without a mark makes nothing, and the mark of one user uses up nothing of another', async () => {
  const [first, other] = [await samples['/account/api/tokens']!(), await samples['/account/api/tokens']!()]
  for (const once of ['', 'short', ['a'.repeat(22), 'b'.repeat(22)]]) {
    const changes = await changesBy(async () => {
      const { status } = await first.browser.post(first.action, { ...first.fields, once })
      assert.equal(status, once.length === 2 ? 400 : 403)
    })
    assert.deepEqual(changes, {})
  }
  const mark = { once: first.fields.once! }
  assert.equal((await first.browser.post(first.action, first.fields)).status, 200)
  assert.equal((await other.browser.post(other.action, { ...other.fields, ...mark })).status, 200)
})

test('a mark is forgotten a day later, when no form that carries it can be sent any more', async () => {
  const { browser, action, fields } = await samples['/account/api/tokens']!()
  await removeDead(house.gateway.context)
  await browser.post(action, fields)
  assert.equal((await removeDead(house.gateway.context)).submissions, 0)
  assert.ok((await countRows(db, 'submissions')) > 0)
  house.clock.advance(day + 1)
  await removeDead(house.gateway.context)
  assert.equal(await countRows(db, 'submissions'), 0)
})
